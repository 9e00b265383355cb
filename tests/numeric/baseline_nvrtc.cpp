// The baselines (docs/baselines.md) of every spec build. Needs NVRTC, no GPU.
#include <fmt/format.h>

#include <array>

#include "compiler/compile.h"
#include "compiler/schedule/baseline/baseline.h"
#include "runtime/build/nvrtc.h"
#include "tests/build_once.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/cases.h"
#include "tests/skip.h"
#include "tools/reference/parallel.h"

using namespace fa;
using namespace fa::tools;

namespace {

struct Build {
  std::string spec;
  DType dtype;
  int head_dim;
  std::string_view target;
};

constexpr std::array<std::string_view, 2> kTargets = {"t4", "a100"};
constexpr std::array kHeadDims = {64, 128, 256};

/// Bytes: the operands of 3xTF32 take registers, and on a T4 copies on their way beside the sums of 256 columns.
/// Algorithm 1 holds S and O at once, as fused kernels do, which spill up to 216 of the same (tests/numeric/nvrtc.cpp).
int most_spilled(const Build& build, LoopOrder order) {
  const bool is_standard = order == LoopOrder::standard;
  if (build.target == "t4") return build.head_dim != 256 ? 0 : is_standard ? 280 : 64;
  if (build.dtype != DType::f32) return 0;
  if (is_standard) return 64;
  // An addend that fused kernels count by its slope is computed at each element here, beside a mask's two comparisons.
  if (build.spec == "sliding_window_alibi" && build.head_dim == 128) return 120;
  return build.head_dim == 256 ? 148 : 64;
}

std::vector<DType> dtypes_of(std::string_view target) {
  if (find_target(target).has_bf16) return {DType::bf16, DType::f16, DType::f32};
  return {DType::f16, DType::f32};
}

/// Builds all with that plan. 16-bit kernels spill nothing; what f32 spills is printed.
void check_builds(const std::vector<Build>& builds, const std::string& plan) {
  std::vector<std::string> lines(builds.size()), errors(builds.size());
  std::vector<int> spills(builds.size());
  parallel_for(static_cast<std::int64_t>(builds.size()), 1, [&](std::int64_t at, std::int64_t) {
    const auto i = static_cast<std::size_t>(at);
    const auto& [name, dtype, head_dim, target] = builds[i];
    lines[i] = fmt::format("{} {} d{} {}", name, dtype_name(dtype), head_dim, target);
    try {
      const Spec spec = load_spec(name).with_dtype(dtype).with_head_dim(head_dim);
      const Compiled compiled = compile_front_end(spec.checked(), find_target(target), plan);
      const Built built = fa::tests::build_once(*compiled.source);
      spills[i] = built.figures.spill_bytes();
      lines[i] += fmt::format(": {} bytes spilled, {}", spills[i], compiled.choice.plan.print());
      if (built.cubin.empty()) errors[i] = "no cubin";
    } catch (const BuildError& error) {
      errors[i] = fmt::format("{}\n{}", error.what(), error.log());
    }
  });
  for (std::size_t i = 0; i < builds.size(); ++i) {
    INFO(lines[i] << errors[i]);
    CHECK(errors[i].empty());
    CHECK(spills[i] <= most_spilled(builds[i], loop_order_of(plan)));
    if (spills[i] != 0) fmt::print("{}\n", lines[i]);
  }
}

/// Each spec once; targets, dtypes and head dims take turns, and every two of these meet.
std::vector<Build> turns() {
  std::vector<Build> builds;
  for (const std::string& spec : test::all_specs()) {
    const std::size_t i = builds.size();
    const std::string_view target = kTargets[i % kTargets.size()];
    const auto dtypes = dtypes_of(target);
    builds.push_back({spec, dtypes[i / 2 % dtypes.size()], kHeadDims[i / 4 % kHeadDims.size()], target});
  }
  return builds;
}

std::vector<Build> matrix() {
  std::vector<Build> builds;
  for (const std::string_view target : kTargets)
    for (const std::string& spec : test::all_specs())
      for (const DType dtype : dtypes_of(target))
        for (const int head_dim : kHeadDims) builds.push_back({spec, dtype, head_dim, target});
  return builds;
}

}  // namespace

TEST_CASE("standard attention of every spec builds", "[nvrtc][baseline][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  check_builds(turns(), "standard");
}

TEST_CASE("algorithm 1 builds", "[nvrtc][baseline]") {
  if (fa::tests::skip_without_nvrtc()) return;
  check_builds({{"causal", DType::bf16, 128, "a100"},
                {"alibi", DType::f16, 64, "t4"},
                {"dropout", DType::f32, 64, "a100"},
                {"gpt_oss", DType::f16, 256, "a100"}},
               "kv_outer");
}

TEST_CASE("algorithm 1 of every spec builds", "[nvrtc][baseline][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  check_builds(turns(), "kv_outer");
}

TEST_CASE("standard attention of every spec, dtype and head_dim builds", "[.][matrix][baseline][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  check_builds(matrix(), "standard");
}

TEST_CASE("algorithm 1 of every spec, dtype and head_dim builds", "[.][matrix][baseline][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  check_builds(matrix(), "kv_outer");
}
