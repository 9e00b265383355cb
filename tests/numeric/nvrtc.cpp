// Every spec builds for sm_80 and spills no register. Needs NVRTC, no GPU.
#include <fmt/format.h>

#include <mutex>

#include "compiler/compile.h"
#include "runtime/build.h"
#include "runtime/nvrtc.h"
#include "tests/catch.h"
#include "tests/numeric/cases.h"
#include "tools/parallel.h"

using namespace fa;
using namespace fa::tools;

namespace {

bool skip_without_nvrtc() {
  try {
    Nvrtc::get();
    return false;
  } catch (const BuildError& error) {
    WARN("skipped: " << error.what());
    return true;
  }
}

struct Build {
  std::string spec;
  DType dtype;
  int head_dim;
};

std::string build_failure(const Build& build) {
  try {
    const Spec spec = load_spec(build.spec).with_dtype(build.dtype).with_head_dim(build.head_dim);
    const Compiled compiled = compile_front_end(spec.checked(), find_target("a100"));
    const Built built = build_source(*compiled.source);
    if (built.cubin.empty()) return "no cubin";
    if (built.spill_store_bytes + built.spill_load_bytes > 0) {
      return fmt::format("spills {} + {} bytes at {} registers, plan {}", built.spill_store_bytes,
                         built.spill_load_bytes, built.registers, compiled.choice.plan.print());
    }
    return {};
  } catch (const BuildError& error) {
    return fmt::format("{}\n{}", error.what(), error.log());
  }
}

void check_builds(const std::vector<Build>& builds) {
  std::vector<std::string> failures(builds.size());
  parallel_for(static_cast<std::int64_t>(builds.size()), 1, [&](std::int64_t i, std::int64_t) {
    failures[static_cast<std::size_t>(i)] = build_failure(builds[static_cast<std::size_t>(i)]);
  });
  for (std::size_t i = 0; i < builds.size(); ++i) {
    INFO(builds[i].spec << " " << dtype_name(builds[i].dtype) << " d" << builds[i].head_dim << ": "
                        << failures[i]);
    CHECK(failures[i].empty());
  }
}

}  // namespace

TEST_CASE("every spec builds for sm_80 without spills", "[nvrtc][slow]") {
  if (skip_without_nvrtc()) return;
  std::vector<Build> builds;
  for (const auto& spec : spec_files()) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      for (const int head_dim : {64, 128, 256}) builds.push_back({spec, dtype, head_dim});
    }
  }
  check_builds(builds);
}
