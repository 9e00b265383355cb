// Made-up specs through everything: NVRTC for every architecture, the host against the reference, a GPU
// against the reference, tile classes against brute force. A few in every run; FA_TEST_SPECS=COUNT or
// FIRST:COUNT takes others, and what fails is shrunk and printed as a spec to keep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <ctime>
#include <mutex>
#include <random>

#include "compiler/compile.h"
#include "runtime/build/nvrtc.h"
#include "runtime/tune/identity.h"
#include "tests/build_once.h"
#include "tests/catch.h"
#include "tests/generated/made_up.h"
#include "tests/generated/shrink.h"
#include "tests/golden.h"
#include "tests/numeric/cases.h"
#include "tests/skip.h"
#include "tools/reference/parallel.h"
#include "tools/tiles/mask_probe.h"

using namespace fa;
using namespace fa::test;
using namespace fa::tools;

namespace {

constexpr int kMostReported = 8;

/// Runs `why_not` (an empty text where all is well) on every spec of the range, on all cores where
/// `parallel`, and reports what fails, shrunk.
void check_all(const Range& range, bool parallel, const std::function<std::string(const MadeUp&)>& why_not) {
  std::mutex mutex;
  std::vector<std::pair<MadeUp, std::string>> failed;
  const auto check_one = [&](std::uint64_t number) {
    const MadeUp made = made_up(number);
    std::string why;
    try {
      why = why_not(made);
    } catch (const Error& error) {
      why = error.what();
    }
    if (why.empty()) return;
    const std::lock_guard lock(mutex);
    failed.emplace_back(made, why);
  };
  const auto count = static_cast<std::int64_t>(range.count);
  if (parallel) {
    parallel_for(count, 1, [&](std::int64_t at, std::int64_t) {
      check_one(range.first + static_cast<std::uint64_t>(at));
    });
  } else {
    for (std::int64_t at = 0; at < count; ++at) check_one(range.first + static_cast<std::uint64_t>(at));
  }
  std::sort(failed.begin(), failed.end(),
            [](const auto& a, const auto& b) { return a.first.number < b.first.number; });
  for (std::size_t i = 0; i < std::min<std::size_t>(failed.size(), kMostReported); ++i) {
    MadeUp smaller = failed[i].first;
    const std::string file = std::string(FA_SOURCE_DIR) + "/tests/import/good/made_up.fa";
    smaller.text = shrink(smaller.text, file, [&](const std::string& text) {
      MadeUp changed = failed[i].first;
      changed.text = text;
      try {
        return !why_not(changed).empty();
      } catch (const SpecError&) {
        return false;
      } catch (const Error&) {
        return true;
      }
    });
    FAIL_CHECK(failed[i].first.print() << "\nfails: " << failed[i].second << "\nshrunk:\n" << smaller.text);
  }
  std::string numbers;
  for (const auto& [made, why] : failed) numbers += fmt::format(" {}", made.number);
  INFO("failed:" << numbers);
  CHECK(failed.empty());
  WARN(fmt::format("{} made-up specs from {} on, {} failed", range.count, range.first, failed.size()));
}

/// What one build cost: CPU time of its thread, so that other work on the machine counts little.
struct BuildCost {
  double seconds = 0;
  int spill_bytes = 0, element_ops = 0;
  std::string what;
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string why_not_built(const Spec& spec, std::string_view target, BuildCost& cost) {
  const bool fits = spec.dtype() != DType::bf16 || find_target(target).has_bf16;
  const Spec typed = fits ? spec : spec.with_dtype(DType::f16);
  try {
    const double begun = thread_seconds();
    const Compiled compiled = compile_front_end(typed.checked(), find_target(target));
    const Built built = tests::build_once(*compiled.source);
    cost = {.seconds = thread_seconds() - begun,
            .spill_bytes = built.figures.spill_bytes(),
            .element_ops = compiled.facts.element_ops,
            .what = fmt::format("{} {} d{} {}", target, dtype_name(typed.dtype()), typed.head_dim(),
                                compiled.choice.plan.print())};
    return built.cubin.empty() ? fmt::format("{}: no cubin", target) : std::string();
  } catch (const BuildError& error) {
    return fmt::format("{}: {}\n{}", target, error.what(), error.log().substr(0, 2000));
  }
}

/// How many rows of all specs could be compared. A test that compares few must not pass.
struct Share {
  std::int64_t compared = 0, doubtful = 0;
};

std::string why_not_right(const MadeUp& made, const Options& options, Share& share) {
  const Spec spec = made.spec();
  const Kernel kernel = compile(spec, options);
  const Problem problem = make_problem(spec, made.inputs);
  const Outputs outputs = run_forward(kernel, problem);
  const auto reference = reference_forward(problem, sample_rows(problem.size, 1 << 20));
  const auto bound = error_bound(spec.dtype(), spec.head_dim(), problem.size.kv_len);
  const Comparison comparison = compare(reference, bound, problem.size, outputs.o, outputs.lse);
  share.compared += comparison.rows;
  share.doubtful += comparison.doubtful_rows;
  return comparison.holds() ? std::string() : comparison.print_worst();
}

/// Whether a summary changes inside a block on a side that the analysis claims to be seen through its blocks
/// alone.
std::string why_not_by_blocks(const MaskProbe& probe, const ProblemSize& size) {
  const TileClasses& classes = probe.classes();
  if (!classes.map) return {};
  for (std::size_t j = 0; j < classes.summaries.size(); ++j) {
    const bool of_query = classes.summaries[j].of_query;
    const int side = of_query ? TileMap::kRowsAlike : TileMap::kColumnsAlike;
    if ((classes.map->by_blocks & side) == 0) continue;
    const int block = of_query ? classes.map->row_block : classes.map->column_block;
    for (int i = 0; i < (of_query ? size.q_len : size.kv_len); ++i)
      for (int h = 0; h < size.num_q_heads; ++h)
        if (probe.summary_at(j, 0, h, i) != probe.summary_at(j, 0, h, i - i % block))
          return fmt::format("summary {} of {} differs at {} from its block of {}", j,
                             of_query ? "q_idx" : "kv_idx", i, block);
  }
  return {};
}

std::string why_unsound(const MadeUp& made) {
  const Spec spec = made.spec();
  if (!spec.checked().has_mask_mod()) return {};
  const Problem problem = make_mask_problem(spec, made.inputs);
  const MaskProbe probe(spec.checked(), problem);
  if (!probe.has_class()) return {};
  if (std::string why = why_not_by_blocks(probe, problem.size); !why.empty()) return why;
  std::mt19937 random(static_cast<unsigned>(made.number));
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const ProblemSize& size = problem.size;
  for (int i = 0; i < 40; ++i) {
    constexpr std::array kRows = {64, 128, 16, 5};
    constexpr std::array kColumns = {32, 64, 128, 7};
    const int rows = kRows[static_cast<std::size_t>(pick(4))],
              columns = kColumns[static_cast<std::size_t>(pick(4))];
    const int q_lo = pick(size.q_len) / rows * rows, kv_lo = pick(size.kv_len) / columns * columns;
    const TileBounds tile = {q_lo, std::min(q_lo + rows, size.q_len) - 1, kv_lo,
                             std::min(kv_lo + columns, size.kv_len) - 1};
    const int b = pick(size.batch), h = pick(size.num_q_heads);
    const TileClass truth = probe.brute_force(b, h, tile);
    for (const TileClass found : {probe.tile_class(b, h, tile), probe.bounds_class(b, h, tile)})
      if (found != TileClass::partial && found != truth)
        return fmt::format("class {} but brute force {} on b={} h={} q={}..{} kv={}..{}",
                           static_cast<int>(found), static_cast<int>(truth), b, h, tile.q_lo, tile.q_hi,
                           tile.kv_lo, tile.kv_hi);
  }
  return {};
}

void check_numbers(Device device, const std::string& target, const Range& range, Impl impl = Impl::facet) {
  Share share;
  Options options = uncached(device);
  options.target = target;
  options.impl = impl;
  check_all(range, false, [&](const MadeUp& made) {
    MadeUp fitting = made;
    if (target == "t4" && made.spec().dtype() == DType::bf16)
      fitting.text = made.spec().with_dtype(DType::f16).text();
    return why_not_right(fitting, options, share);
  });
  const double doubtful = static_cast<double>(share.doubtful) /
                          static_cast<double>(std::max<std::int64_t>(share.compared + share.doubtful, 1));
  WARN(fmt::format("{} rows compared, {:.2f}% left out for a doubt", share.compared, 100 * doubtful));
  CHECK(doubtful < 0.1);
}

}  // namespace

TEST_CASE("made-up specs: every one is accepted", "[generated]") {
  check_all(made_up_range(covering_count()), true, [](const MadeUp& made) {
    made.spec();
    return std::string();
  });
}

TEST_CASE("made-up specs: a number stands for one spec, whichever compiler built the tests", "[generated]") {
  std::string hashes;
  for (std::uint64_t number = 0; number < 100; ++number)
    hashes += fmt::format("{} {}\n", number, spec_hash(made_up(number).spec()));
  check_golden("made_up/hashes", hashes);
}

TEST_CASE("made-up specs: NVRTC builds them for sm_75, sm_80 and sm_90", "[generated][nvrtc]") {
  if (tests::skip_without_nvrtc()) return;
  std::mutex mutex;
  std::vector<BuildCost> costs;
  check_all(made_up_range(12), true, [&](const MadeUp& made) {
    for (const char* target : {"t4", "a100", "h200"}) {
      BuildCost cost;
      if (std::string why = why_not_built(made.spec(), target, cost); !why.empty()) return why;
      cost.what += fmt::format(", number {}: {}", made.number, made.features);
      const std::lock_guard lock(mutex);
      costs.push_back(std::move(cost));
    }
    return std::string();
  });
  std::sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  costs.resize(std::min<std::size_t>(costs.size(), costs.size() > 36 ? 40 : 5));
  std::string slowest;
  for (std::size_t i = 0; i < costs.size(); ++i)
    slowest += fmt::format("\n{:.2f} s, {} bytes spilled, {} operations an element: {}", costs[i].seconds,
                           costs[i].spill_bytes, costs[i].element_ops, costs[i].what);
  WARN("slowest builds:" << slowest);
}

TEST_CASE("made-up specs: the host is within the bound", "[generated][numeric]") {
  check_numbers(Device::host, "", made_up_range(60));
}

TEST_CASE("made-up specs: the host's baselines are within the bound", "[generated][numeric][baseline]") {
  for (const Impl impl : {Impl::standard, Impl::flash1})
    check_numbers(Device::host, "", made_up_range(20), impl);
}

TEST_CASE("made-up specs: tile classes agree with brute force", "[generated][analysis]") {
  check_all(made_up_range(200), true, why_unsound);
}

TEST_CASE("made-up specs: kernels for sm_80 are within the bound", "[generated][gpu]") {
  if (skip_without_gpu()) return;
  check_numbers(Device::cuda, "a100", made_up_range(40));
}

TEST_CASE("made-up specs: a GPU's own kernels are within the bound", "[generated][gpu]") {
  if (skip_without_gpu()) return;
  check_numbers(Device::cuda, "", made_up_range(40));
}

TEST_CASE("made-up specs: kernels for sm_75 are within the bound", "[generated][gpu]") {
  if (skip_without_gpu()) return;
  check_numbers(Device::cuda, "t4", made_up_range(40));
}
