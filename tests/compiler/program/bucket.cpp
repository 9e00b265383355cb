// Which bucket a call's sizes lie in.
#include "compiler/program/bucket.h"

#include "tests/catch.h"

using namespace fa;

TEST_CASE("CTAs of work count tiles of 128 queries of every head and batch entry", "[program][bucket]") {
  CallParams call{};
  call.batch = 2;
  call.num_q_heads = 6;
  call.group_size = 3;
  call.q_len = 129;
  call.kv_len = 1000;
  CHECK(CallSize::of(call) == CallSize{.ctas = 24, .kv_len = 1000, .group_size = 3});
  call.q_len = 128;
  CHECK(CallSize::of(call).ctas == 12);
  call.batch = call.num_q_heads = 65535;
  call.q_len = 1 << 30;
  CHECK(CallSize::of(call).ctas == std::int64_t{65535} * 65535 * (1 << 23));
}

TEST_CASE("both ends of a bucket's ranges belong to it", "[program][bucket]") {
  const Bucket bucket{.ctas = {.least = 3, .most = 66}, .kv_len = {.least = 0, .most = 2048}};
  for (const std::int64_t ctas : {2, 3, 66, 67})
    for (const std::int64_t kv_len : {1, 2048, 2049})
      CHECK(bucket.holds({.ctas = ctas, .kv_len = kv_len}) == (ctas >= 3 && ctas <= 66 && kv_len <= 2048));
  CHECK(Bucket{}.holds({.ctas = SizeRange::kMost, .kv_len = 1 << 30, .group_size = 65535}));
}

TEST_CASE("a bucket says in words which calls it holds", "[program][bucket]") {
  CHECK(Bucket{}.print() == "every call");
  CHECK(Bucket{.ctas = {.most = 66}}.print() == "up to 66 CTAs of work");
  CHECK(Bucket{.ctas = {.least = 67, .most = 99}, .kv_len = {.least = 513}}.print() ==
        "67 to 99 CTAs of work, kv_len from 513");
  CHECK(Bucket{.kv_len = {.most = 2048}, .group_size = {.least = 8, .most = 8}}.print() ==
        "kv_len up to 2048, group size 8");
  CHECK(describe_bucket({}, 1) == "every call");
  CHECK(describe_bucket({}, 2) == "all other calls");
}
