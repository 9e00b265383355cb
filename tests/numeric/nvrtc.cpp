// Every spec builds for every architecture, and no kernel spills more registers than is written down here.
// Needs NVRTC, no GPU.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>

#include "compiler/compile.h"
#include "runtime/build/build.h"
#include "runtime/build/nvrtc.h"
#include "tests/build_once.h"
#include "tests/catch.h"
#include "tests/compiler/analysis/table_masks/masks.h"
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
  std::string_view plan = {};  // empty: the compiler's own choice

  std::string print() const { return fmt::format("{} {} d{} {}", spec, dtype_name(dtype), head_dim, target); }
};

struct Result {
  std::string error = {};  // empty: it was built
  std::string plan = {};
  int spill_bytes = 0;        // of the attention pass
  int other_spill_bytes = 0;  // of all other passes
};

Result build_one(const Spec& spec, std::string_view target, std::string_view plan) {
  try {
    const Compiled compiled = compile_front_end(spec.checked(), find_target(target), plan);
    const Built built = tests::build_once(*compiled.source);
    if (built.cubin.empty()) return {.error = "no cubin"};
    const int spill_bytes = read_ptxas_report(built.log, "facet_forward").spill_bytes();
    return {.error = {},
            .plan = compiled.choice.plan.print(),
            .spill_bytes = spill_bytes,
            .other_spill_bytes = built.figures.spill_bytes() - spill_bytes};
  } catch (const BuildError& error) {
    return {.error = fmt::format("{}\n{}", error.what(), error.log())};
  }
}

Result build_one(const Build& build) {
  return build_one(load_spec(build.spec).with_dtype(build.dtype).with_head_dim(build.head_dim), build.target,
                   build.plan);
}

std::vector<Result> build_all(const std::vector<Build>& builds) {
  std::vector<Result> results(builds.size());
  parallel_for(static_cast<std::int64_t>(builds.size()), 1, [&](std::int64_t i, std::int64_t) {
    results[static_cast<std::size_t>(i)] = build_one(builds[static_cast<std::size_t>(i)]);
  });
  return results;
}

/// One target of each architecture that Facet has kernels for.
constexpr std::array<std::string_view, 5> kArchitectures = {"t4", "a100", "a10", "l4", "h100"};
constexpr std::array kHeadDims = {64, 128, 256};

std::vector<DType> dtypes_of(std::string_view target) {
  if (find_target(target).has_bf16) return {DType::bf16, DType::f16, DType::f32};
  return {DType::f16, DType::f32};
}

/// What may spill, and at most how many bytes. docs/performance.md says why.
struct Spilling {
  std::string_view target;
  DType dtype;
  int head_dim;
  std::string_view spec;  // empty: every spec that no earlier line names
  int bytes;
};
constexpr std::array<Spilling, 16> kSpilling{{
    {"t4", DType::f16, 256, "dropout", 96},
    {"t4", DType::f16, 256, "t5_bias", 16},
    {"a100", DType::f32, 64, "", 56},
    {"a100", DType::f32, 128, "", 108},
    {"a100", DType::f32, 256, "", 216},
    {"a10", DType::f32, 64, "", 64},
    {"a10", DType::f32, 256, "neighbourhood_2d", 152},
    {"a10", DType::f32, 256, "", 40},
    {"l4", DType::f32, 64, "", 64},
    {"l4", DType::f32, 256, "neighbourhood_2d", 152},
    {"l4", DType::f32, 256, "", 40},
    {"h100", DType::f32, 64, "bigbird", 472},
    {"h100", DType::f32, 64, "", 108},
    {"h100", DType::f32, 128, "prefix_lm", 112},
    {"h100", DType::f32, 128, "", 72},
    {"h100", DType::f32, 256, "", 180},
}};

int most_spilled(const Build& build) {
  for (const Spilling& line : kSpilling)
    if (line.target == build.target && line.dtype == build.dtype && line.head_dim == build.head_dim &&
        (line.spec.empty() || line.spec == build.spec))
      return line.bytes;
  return 0;
}

/// The pass that fills the tile map has 64 registers a thread, so that four of its blocks fit on an SM. For
/// sm_90 ptxas stores one value around the call that classifies a tile, and loads it again.
int most_spilled_by_other_passes(const Build& build) {
  return build.target == "h100" && build.spec == "neighbourhood_2d" ? 8 : 0;
}

/// Builds all and checks what each spills; returns a line for each that spills.
std::vector<std::string> check_builds(const std::vector<Build>& builds) {
  const std::vector<Result> results = build_all(builds);
  std::vector<std::string> spilling;
  for (std::size_t i = 0; i < builds.size(); ++i) {
    const std::string line =
        fmt::format("{}: {} bytes, {} in other passes, {}", builds[i].print(), results[i].spill_bytes,
                    results[i].other_spill_bytes, results[i].plan);
    INFO(line << results[i].error);
    CHECK(results[i].error.empty());
    CHECK(results[i].spill_bytes <= most_spilled(builds[i]));
    CHECK(results[i].other_spill_bytes <= most_spilled_by_other_passes(builds[i]));
    if (results[i].spill_bytes + results[i].other_spill_bytes != 0) spilling.push_back(line);
  }
  return spilling;
}

}  // namespace

// Each spec meets each head_dim; dtypes take turns in these tests: all of them cost three times as long, which is left to
// [matrix].
TEST_CASE("every spec and head_dim builds for sm_80 in 16 bits and spills nothing", "[nvrtc][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  std::vector<Build> builds;
  for (const auto& spec : test::all_specs())
    for (const int head_dim : kHeadDims)
      builds.push_back({spec, builds.size() % 2 == 0 ? DType::bf16 : DType::f16, head_dim, "a100"});
  CHECK(check_builds(builds).empty());
}

// What compiler/schedule/two_stages.h chooses on GPUs with other numbers of SMs.
TEST_CASE("kernels of 256 rows in two stages spill nothing", "[nvrtc]") {
  if (fa::tests::skip_without_nvrtc()) return;
  constexpr std::string_view kManyRows = "sm80 tile_q=256 tile_kv=64 warps=8 stages=2";
  CHECK(check_builds(
            {{"full", DType::bf16, 128, "a100", kManyRows}, {"full", DType::f16, 128, "h200", kManyRows}})
            .empty());
}

TEST_CASE("kernels of 256 rows that a table's tiles are added to spill nothing", "[nvrtc]") {
  if (fa::tests::skip_without_nvrtc()) return;
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const char* target : {"a100", "h200"})
      for (const int stages : {1, 2}) {
        const Result result =
            build_one(pair_bias_spec(dtype), target,
                      fmt::format("sm80 tile_q=256 tile_kv=64 warps=8 stages={} min_ctas=1", stages));
        INFO(dtype_name(dtype) << " " << target << " stages " << stages << result.error);
        CHECK(result.error.empty());
        CHECK(result.spill_bytes == 0);
      }
}

TEST_CASE("every spec and head_dim builds for sm_90, and 16-bit kernels spill nothing", "[nvrtc][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  constexpr std::array kTurns = {DType::bf16, DType::f16, DType::f32};
  std::vector<Build> builds;
  for (const auto& spec : test::all_specs())
    for (const int head_dim : kHeadDims) {
      const std::size_t i = builds.size();
      builds.push_back({spec, kTurns[(i + i / kTurns.size()) % kTurns.size()], head_dim, "h100"});
    }
  check_builds(builds);
}

TEST_CASE("every spec builds for other architectures, and in f32 for sm_80", "[nvrtc][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  // Each spec meets sm_75, sm_80, and sm_86 or sm_89, which share their kernels; head dims take turns.
  std::vector<Build> builds;
  const auto specs = test::all_specs();
  for (std::size_t s = 0; s < specs.size(); ++s) {
    const auto head_dim = [&](std::size_t turn) { return kHeadDims[(s / 2 + turn) % kHeadDims.size()]; };
    const std::string_view shared = s % 2 == 0 ? "a10" : "l4";
    const auto dtypes = dtypes_of(shared);
    builds.push_back({specs[s], s % 2 == 0 ? DType::f16 : DType::f32, head_dim(0), "t4"});
    builds.push_back({specs[s], DType::f32, head_dim(1), "a100"});
    builds.push_back({specs[s], dtypes[s / 2 % dtypes.size()], head_dim(2), shared});
  }
  check_builds(builds);
}

// A T4's f32 tiles of 16 query rows: rounds of the map's pass have fewer rows than a warp has lanes where queries alone
// have summaries (tree), and as many where keys have some, too (document).
TEST_CASE("tile maps build for the smallest tiles", "[nvrtc]") {
  if (fa::tests::skip_without_nvrtc()) return;
  constexpr std::string_view kSmallest = "tile_q=16 warps=1";
  const std::vector<Build> builds = {{"tree", DType::f32, 192, "t4", kSmallest},
                                     {"document", DType::f32, 192, "t4", kSmallest}};
  const std::vector<Result> results = build_all(builds);
  for (std::size_t i = 0; i < builds.size(); ++i) {
    INFO(builds[i].print() << ": " << results[i].plan << results[i].error);
    CHECK(results[i].error.empty());
    CHECK(results[i].plan.find("tile_q=16 ") != std::string::npos);
  }
}

// Its tables may be what the caller's kernel before it writes; __ldg lets compilers move a read to before the wait. Among them
// one number for all tiles, whose read no loop holds.
TEST_CASE("the pass of a tile map reads no table before it has waited for the caller's kernel", "[nvrtc]") {
  if (fa::tests::skip_without_nvrtc()) return;
  const Spec numbers = Spec::parse(
      "attention numbers\nhead_dim 64\ndtype bf16\ntensor first : i32[1]\ntensor lens : i32[batch]\n"
      "tensor doc : i32[batch, kv_len]\n"
      "mask_mod = doc[b, q_idx] == doc[b, kv_idx] and kv_idx < lens[b] and q_idx >= first[0]\n");
  for (const Spec& spec : {numbers, load_spec("document"), load_spec("block_sparse"), load_spec("tree")}) {
    INFO(spec.name());
    const Compiled compiled = compile_front_end(spec.checked(), find_target("h100"));
    const std::string ptx = build_source(*compiled.source).ptx;
    std::string pass = ptx.substr(std::min(ptx.size(), ptx.find(".entry facet_tile_map(")));
    pass = pass.substr(0, pass.find("\n}"));
    const std::size_t wait = pass.find("griddepcontrol.wait"), read = pass.find("ld.global");
    REQUIRE(wait != std::string::npos);
    REQUIRE(read != std::string::npos);
    CHECK(wait < read);
    CHECK(wait < pass.find("griddepcontrol.launch_dependents"));
  }
}

// All of them, which takes many minutes, and prints what spills. Hidden: it runs where its tag is asked for,
// for one architecture by `-c t4`.
TEST_CASE("every spec, dtype, head_dim and architecture builds", "[.][matrix][slow]") {
  if (fa::tests::skip_without_nvrtc()) return;
  for (const std::string_view target : kArchitectures) {
    DYNAMIC_SECTION(target) {
      std::vector<Build> builds;
      for (const DType dtype : dtypes_of(target))
        for (const int head_dim : kHeadDims)
          for (const auto& spec : test::all_specs()) builds.push_back({spec, dtype, head_dim, target});
      const auto start = std::chrono::steady_clock::now();
      const std::vector<std::string> spilling = check_builds(builds);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      for (const std::string& line : spilling) fmt::print("{}\n", line);
      fmt::print("{}: {} kernels in {:.0f} s, {} of them spill\n", target, builds.size(), took.count(),
                 spilling.size());
    }
  }
}

namespace {

/// Every `step`th mask over tables, on one architecture after the other.
void build_table_masks(int step) {
  if (fa::tests::skip_without_nvrtc()) return;
  std::vector<const test::TableMask*> masks;
  for (const test::TableMaskKind& kind : test::table_masks())
    for (const test::TableMask& mask : kind.masks) masks.push_back(&mask);
  const auto count = static_cast<std::int64_t>(masks.size()) / step;
  std::vector<std::string> errors(static_cast<std::size_t>(count));
  std::atomic<int> maps = 0;
  parallel_for(count, 1, [&](std::int64_t i, std::int64_t) {
    const test::TableMask& mask = *masks[static_cast<std::size_t>(i * step)];
    const Spec spec =
        Spec::parse(std::string("attention probe\nhead_dim 64\ndtype f16\n") + mask.text + "\n");
    const Compiled compiled = compile_front_end(spec.checked(), find_target(i % 2 == 0 ? "a100" : "t4"));
    maps += compiled.source->program.at(0).tile_map.has_value();
    try {
      if (tests::build_once(*compiled.source).cubin.empty()) errors[static_cast<std::size_t>(i)] = "no cubin";
    } catch (const BuildError& error) {
      errors[static_cast<std::size_t>(i)] = fmt::format("{}\n{}\n{}", mask.name, error.what(), error.log());
    }
  });
  for (const std::string& error : errors) CHECK(error == "");
  CHECK(maps > count / 2);
}

}  // namespace

TEST_CASE("masks over tables build, with the pass that fills their map", "[nvrtc]") { build_table_masks(6); }

TEST_CASE("all masks over tables build", "[.][full][nvrtc]") { build_table_masks(1); }
