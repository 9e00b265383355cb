// Every spec builds for sm_80; none spills more registers than is known of it. Needs NVRTC, no GPU.
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

/// Bytes stored and loaded, once a kv tile, by the kernels that ptxas does not fit into the 255 registers of
/// two CTAs of four warps. docs/performance.md says what they cost (nothing measurable) and what was tried.
/// Lines may only go.
int known_spill(std::string_view spec, int head_dim) {
  struct Known {
    std::string_view spec;
    int head_dim;
    int bytes;
  };
  static constexpr Known kKnown[] = {{"alibi", 128, 40},
                                     {"block_sparse", 128, 40},
                                     {"dilated", 128, 12},
                                     {"document", 128, 60},
                                     {"neighbourhood_2d", 128, 24},
                                     {"prefix_lm", 128, 32},
                                     {"relative_bias", 64, 8},
                                     {"relative_bias", 128, 112},
                                     {"sigmoid_gate", 128, 112},
                                     {"sliding_window_alibi", 128, 72},
                                     {"softcap", 128, 112},
                                     {"t5_bias", 64, 280},
                                     {"t5_bias", 128, 104}};
  for (const Known& known : kKnown)
    if (known.spec == spec && known.head_dim == head_dim) return known.bytes;
  return 0;
}

std::string build_failure(const Build& build) {
  try {
    const Spec spec = load_spec(build.spec).with_dtype(build.dtype).with_head_dim(build.head_dim);
    const Compiled compiled = compile_front_end(spec.checked(), find_target("a100"));
    const Built built = build_source(*compiled.source);
    if (built.cubin.empty()) return "no cubin";
    if (built.spill_store_bytes + built.spill_load_bytes > known_spill(build.spec, build.head_dim)) {
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

TEST_CASE("every spec builds for sm_80, none with more spills than are known", "[nvrtc][slow]") {
  if (skip_without_nvrtc()) return;
  std::vector<Build> builds;
  for (const auto& spec : spec_files()) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      for (const int head_dim : {64, 128, 256}) builds.push_back({spec, dtype, head_dim});
    }
  }
  check_builds(builds);
}
