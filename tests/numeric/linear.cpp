// Addends that are linear in kv_idx in ways that no file of specs/ has: without a mask, growing away from the
// row, with a row's part that is read from a table, with empty rows and NaN, on lengths that differ.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "compiler/analysis/facts.h"
#include "tests/catch.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

struct Hooks {
  const char* name;
  const char* text;
};

constexpr Hooks kHooks[] = {
    {"unmasked", "score_mod = score - slopes[h] * f32(q_idx - kv_idx)"},
    {"growing", "score_mod = score + 2.0 * f32(q_idx - kv_idx)\nmask_mod = q_idx >= kv_idx"},
    {"not_the_distance", "score_mod = score + slopes[h] * f32(kv_idx) - 0.25 * f32(3 * q_idx)"},
    {"read_rows", "score_mod = score + rows[q_idx] + slopes[h] * f32(kv_idx)\nmask_mod = kv_idx % 3 != 1"},
    {"empty_rows",
     "score_mod = score + where(q_idx % 5 == 2, -1.0 / 0.0, rows[q_idx]) + slopes[h] * f32(kv_idx)"},
    {"documents",
     "score_mod = score - slopes[h] * f32(q_idx - kv_idx)\nmask_mod = ids[q_idx] == ids[kv_idx]"},
    {"dropped",
     "dropout 0.2\nscore_mod = score - slopes[h] * f32(q_idx - kv_idx)\nmask_mod = q_idx >= kv_idx"},
};

void check_linear(Device device, const Path& path) {
  for (const DType dtype : path.dtypes)
    for (const Hooks& hooks : kHooks)
      for (const auto& [q_len, kv_len] : {std::pair{200, 333}, std::pair{130, 64}}) {
        const Spec spec =
            Spec::parse(fmt::format("attention {}\nhead_dim 64\ndtype {}\n"
                                    "tensor slopes : f32[num_q_heads] = exp2(-8.0 * (i0 + 1) / num_q_heads)\n"
                                    "tensor rows : f32[q_len] = 0.125 * f32(i0 % 17)\n"
                                    "tensor ids : i32[q_len + kv_len] = i0 / 50\n{}\n",
                                    hooks.name, dtype_name(dtype), hooks.text));
        ProblemInputs inputs;
        inputs.size = {.batch = 1, .num_q_heads = 4, .num_kv_heads = 2, .q_len = q_len, .kv_len = kv_len};
        const Problem problem = make_problem(spec, inputs);
        Options options = uncached(device);
        options.target = path.target;
        INFO(hooks.name << " " << dtype_name(dtype) << " " << q_len << " x " << kv_len << " " << path.target);
        const HookIr ir = lower(spec.checked());
        REQUIRE(analyse(spec.checked(), ir).addend_is_linear);
        CHECK(failure(compile(spec, options), problem) == "");
      }
}

}  // namespace

TEST_CASE("host: linear addends of every kind are within the bound", "[numeric]") {
  check_linear(Device::host, {"", {DType::f32, DType::bf16}});
}

TEST_CASE("cuda: linear addends of every kind are within the bound, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths()) check_linear(Device::cuda, path);
}
