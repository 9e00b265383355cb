// Tables that kernels read a tile ahead: those that score_mod reads at the element's row and column, and at
// its column alone. With rows that do not begin at 16 bytes, lengths that end inside a tile, tiles of every
// width.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr const char* kStagedHooks[] = {
    "score_mod = score + a[q_idx, kv_idx]",
    "score_mod = score + 0.00001 * f[q_idx, kv_idx]",
    "score_mod = score - 0.25 * c[b, h, q_idx, kv_idx]\nmask_mod = q_idx + 3 >= kv_idx",
    "score_mod = 2.0 * score + d[h, q_idx, kv_idx] * e[kv_idx]\nmask_mod = d[h, q_idx, kv_idx] < 6",
    "score_mod = 10.0 * tanh((score + a[q_idx, kv_idx]) / 10.0) + f[q_idx, kv_idx]",
    "score_mod = score + a[q_idx, kv_idx] + f[kv_idx % q_len, kv_idx]",
    "score_mod = score - e[kv_idx] * e[kv_idx / 2]\nmask_mod = q_idx >= kv_idx or e[kv_idx] > 0.5",
    "score_mod = score + 0.1 * sum(i < 8: g[h, kv_idx, i] * f32(q_idx % (i + 2)))",
    "score_mod = where(h % 2 == 0, score + a[q_idx, kv_idx], score - e[kv_idx])",
};
constexpr int kLengths[][2] = {{64, 64}, {200, 1003}, {1, 130}, {300, 1}, {129, 72}};
constexpr const char* kPlans[] = {"",
                                  "tile_q=64 tile_kv=48",
                                  "tile_q=64 tile_kv=32 stages=2",
                                  "tile_q=64 tile_kv=128",
                                  "tile_q=64 tile_kv=64 stages=1 min_ctas=1",
                                  "tile_q=64 tile_kv=32 stages=2 min_ctas=1"};

void check_staged(Device device, const Path& path, bool plans) {
  int number = 0;
  for (const DType dtype : path.dtypes)
    for (const char* hooks : kStagedHooks) {
      const Spec spec = Spec::parse(fmt::format(
          "attention staged\nhead_dim 64\ndtype {}\ntensor a : bf16[q_len, kv_len]\n"
          "tensor c : f32[batch, num_q_heads, q_len, kv_len]\n"
          "tensor d : i32[num_q_heads, q_len, kv_len]\ntensor e : f16[kv_len]\n"
          "tensor f : f16[max(q_len, kv_len), kv_len]\ntensor g : f32[num_q_heads, kv_len, 8]\n{}\n",
          dtype_name(dtype), hooks));
      Options options = uncached(device);
      options.target = path.target;
      if (plans) options.plan = kPlans[number++ % std::size(kPlans)];
      if (path.target == "t4") options.plan = "";  // its shared memory and stages are others
      const Kernel kernel = compile(spec, options);
      for (const auto& [q_len, kv_len] : kLengths) {
        ProblemInputs inputs;
        inputs.size = {.batch = 2, .num_q_heads = 2, .num_kv_heads = 1, .q_len = q_len, .kv_len = kv_len};
        INFO(hooks << "\n"
                   << dtype_name(dtype) << " " << path.target << " " << options.plan << " " << q_len << " x "
                   << kv_len);
        CHECK(failure(kernel, make_problem(spec, inputs)) == "");
      }
    }
}

}  // namespace

TEST_CASE("host: tables read at rows and columns are within the bound", "[numeric]") {
  check_staged(Device::host, {"", {DType::f32, DType::bf16}}, false);
}

// In two stages: what compiler/schedule/two_stages.h chooses on an H200's sm_80 kernels, but with one buffer for the table.
TEST_CASE("cuda: a table's tiles of 256 rows are within the bound", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Spec spec = pair_bias_spec(dtype);
    Options options = uncached(Device::cuda);
    options.target = "a100";
    for (const int stages : {1, 2}) {
      options.plan = fmt::format("tile_q=256 tile_kv=64 warps=8 stages={} min_ctas=1", stages);
      const Kernel kernel = compile(spec, options);
      for (const auto& [q_len, kv_len] : kLengths) {
        ProblemInputs inputs;
        inputs.size = {.batch = 2, .num_q_heads = 2, .num_kv_heads = 1, .q_len = q_len, .kv_len = kv_len};
        INFO(dtype_name(dtype) << " " << q_len << " x " << kv_len << " stages " << stages);
        CHECK(failure(kernel, make_problem(spec, inputs)) == "");
      }
    }
  }
}

TEST_CASE("cuda: tables read a tile ahead are within the bound, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths()) check_staged(Device::cuda, path, true);
}
