// The calls on which Tune::once times kernels: how large they are, and that kernels run on them.
#include "runtime/tune/made_up_call.h"

#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Spec with_bias(const std::string& extents) {
  return Spec::parse("attention t\nhead_dim 64\ndtype f16\ntensor bias : f32[" + extents +
                     "]\nscore_mod = score + bias[" +
                     std::string(extents.find("kv_len") == 0 ? "kv_idx" : "b, h, q_idx, kv_idx") + "]\n");
}

}  // namespace

TEST_CASE("a made-up call is as long as memory allows", "[tune]") {
  const ProblemSize size;  // q, k, v and o take 4 x 2 x 16 x 8192 x 64 x 2 bytes, 128 MiB
  CHECK(size_that_fits(with_bias("kv_len"), size, kGiB) == size);
  CHECK(size_that_fits(with_bias("kv_len"), size, kGiB / 8)->q_len == 4096);  // 32 KiB of bias are too many
  // A number for each pair of a query and a key: 8 GiB, 2 GiB, 512 MiB.
  CHECK(size_that_fits(with_bias("batch, num_q_heads, q_len, kv_len"), size, kGiB)->q_len == 2048);
  CHECK(size_that_fits(with_bias("kv_len"), size, kGiB / 64)->q_len == 512);
  CHECK_FALSE(size_that_fits(with_bias("kv_len"), size, 1));
}

TEST_CASE("kernels run on a made-up call", "[tune]") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const char* name : {"alibi", "kerple", "dropout", "tree", "t5_bias"}) {
      INFO(name << " " << dtype_name(dtype));
      const Spec spec = Spec::load(test::spec_path(name)).with_dtype(dtype).with_head_dim(32);
      const Kernel kernel = compile(spec, {.device = Device::host, .tune = Tune::never});
      MadeUpCall call(spec, {.batch = 1, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 70, .kv_len = 90},
                      nullptr);
      const std::optional<double> took = call.seconds(kernel, 2);
      REQUIRE(took);
      CHECK(*took > 0);
      CHECK(*took < 60);
    }
  }
}

TEST_CASE("where no call of a made-up size can be, nothing is timed and compile says so", "[tune]") {
  const tests::TemporaryFolder folder;
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 16\ndtype f32\ntensor rest : f32[q_len - 2000]\n"
      "score_mod = score + rest[max(q_idx - 2000, 0)]\n");
  const Kernel kernel =
      compile(spec, {.device = Device::host, .cache_dir = folder / "cache", .tune = Tune::once});
  CHECK(kernel.times().tuned ==
        "not timed: the tensor rest has an extent of -976 where q_len is 1024, kv_len 1024; run facet tune");
}
