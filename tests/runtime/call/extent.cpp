// Extents by the language's arithmetic.
#include "runtime/call/extent.h"

#include <fmt/format.h>

#include "compiler/spec/spec.h"
#include "tests/catch.h"

using namespace fa;

namespace {

std::int32_t extent(const std::string& text, std::int32_t p = 3) {
  const Spec spec =
      Spec::parse(fmt::format("attention a\nhead_dim 64\nparam p : i32 = 0\ntensor t : f32[{}]\n"
                              "score_mod = score + t[0] + f32(p)\n",
                              text));
  const CallExtents size = {.batch = 2,
                            .num_q_heads = 12,
                            .num_kv_heads = 4,
                            .group_size = 3,
                            .q_len = 1000,
                            .kv_len = 77,
                            .head_dim = 64};
  const Scalar scalars[] = {p};
  return evaluate_extent(*spec.checked().tensors[0].extents[0], size, scalars);
}

}  // namespace

TEST_CASE("every size is known", "[runtime][extent]") {
  CHECK(extent("5") == 5);
  CHECK(extent("batch") == 2);
  CHECK(extent("num_q_heads") == 12);
  CHECK(extent("num_kv_heads") == 4);
  CHECK(extent("group_size") == 3);
  CHECK(extent("q_len") == 1000);
  CHECK(extent("kv_len") == 77);
  CHECK(extent("head_dim") == 64);
  CHECK(extent("p") == 3);
}

TEST_CASE("division rounds down, and by zero gives zero", "[runtime][extent]") {
  CHECK(extent("kv_len / 10") == 7);
  CHECK(extent("(0 - kv_len) / 10") == -8);
  CHECK(extent("(0 - kv_len) % 10") == 3);
  CHECK(extent("kv_len % (0 - 10)") == -3);
  CHECK(extent("kv_len / (p - 3)") == 0);
  CHECK(extent("kv_len % (p - 3)") == 0);
  CHECK(extent("ceil_div(q_len, 64)") == 16);
}

TEST_CASE("i32 wraps around; shifts take their amount modulo 32", "[runtime][extent]") {
  CHECK(extent("p * 1431655765") == -1);
  CHECK(extent("p + 2147483647") == -2147483646);
  CHECK(extent("p << 33") == 6);
  CHECK(extent("(0 - kv_len) >> 1") == -39);
  CHECK(extent("kv_len & 12 | 1") == 13);
  CHECK(extent("kv_len ^ p") == 78);
  CHECK(extent("~kv_len") == -78);
}

TEST_CASE("functions, choices and reductions", "[runtime][extent]") {
  CHECK(extent("sum(i < p max 8: i + 1)", 3) == 6);
  CHECK(extent("sum(i < p max 8: i + 1)", 100) == 36);
  CHECK(extent("sum(i < p max 8: i + 1)", -1) == 0);
  CHECK(extent("min(max(i < p max 8: i), 5)", 0) == -2147483647 - 1);
  CHECK(extent("i32(min(i < p max 8: 0.5 * i))", 0) == 2147483647);
  CHECK(extent("popcount(p) + sign(-p) + p ** 3 + i32(ceil(p * 0.4) + round(p * 0.5))", 5) ==
        2 - 1 + 125 + 2 + 2);
  CHECK(extent("min(q_len, kv_len)") == 77);
  CHECK(extent("max(q_len, kv_len, 2000)") == 2000);
  CHECK(extent("clamp(q_len, 1, 500)") == 500);
  CHECK(extent("abs(p - 10)") == 7);
  CHECK(extent("where(q_len > kv_len and not (p == 4), 10, 20)") == 10);
  CHECK(extent("where(q_len <= kv_len or p != 3, 10, 20)") == 20);
  CHECK(extent("sum(i < 4: i * p)") == 18);
  CHECK(extent("max(i < 4: sum(j < 3: i * j))") == 9);
  CHECK(extent("where(any(i < 4: i == p), 1, 2)") == 1);
  CHECK(extent("where(all(i < 4: i == p), 1, 2)") == 2);
  CHECK(extent("i32(f32(q_len) * 0.3337)") == 333);
  CHECK(extent("i32(sqrt(f32(q_len)))") == 31);
}
