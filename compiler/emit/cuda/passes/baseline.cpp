#include "compiler/emit/cuda/passes/baseline.h"

#include <fmt/format.h>

#include "compiler/schedule/baseline/baseline.h"
#include "compiler/schedule/baseline/flash1.h"
#include "compiler/schedule/shape.h"
#include "compiler/spec/dtype.h"

namespace fa {
namespace {

constexpr int kSoftmaxRows = 8;    // of a block, a warp each: templates/common/standard/softmax.cuh
constexpr int kSoftmaxBlocks = 6;  // of an SM, which bound the registers: the pass waits for memory alone

/// A pass that is a struct's static `run`, with the struct's own numbers held to those of the pass.
PrintedPass print_pass(const Pass& pass, std::string_view runs, int blocks_an_sm, bool has_shared_memory) {
  std::string text = fmt::format(R"(using {entry}_pass = {runs};
extern "C" __global__ void __launch_bounds__({threads}, {blocks})
    {entry}(const __grid_constant__ fa::BaselineParams params) {{
  {entry}_pass::run(params);
}}
static_assert({entry}_pass::kThreads == {threads});
)",
                                 fmt::arg("entry", pass.entry), fmt::arg("runs", runs),
                                 fmt::arg("threads", pass.threads), fmt::arg("blocks", blocks_an_sm));
  if (has_shared_memory)
    text += fmt::format("static_assert({}_pass::kSharedBytes == {});\n", pass.entry, pass.shared_memory);
  return {.pass = pass, .include = {}, .text = std::move(text)};
}

std::vector<PrintedPass> print_standard_passes(const CheckedSpec& spec, const Plan& plan) {
  const Pass scores = {.entry = "facet_scores",
                       .grid = Grid::q_tiles,
                       .tile_q = plan.tile_q,
                       .tile_kv = plan.tile_kv,
                       .threads = threads_of(plan),
                       .shared_memory = scores_shared_memory(plan, spec),
                       .score_bytes = dtype_bytes(spec.dtype)};
  const Pass softmax = {.entry = "facet_softmax",
                        .grid = Grid::score_rows,
                        .tile_q = kSoftmaxRows,
                        .tile_kv = plan.tile_kv,
                        .threads = kSoftmaxRows * kWarpThreads};
  const Pass outputs = {.entry = "facet_outputs",
                        .grid = Grid::q_tiles,
                        .tile_q = plan.tile_q,
                        .tile_kv = plan.tile_kv,
                        .threads = threads_of(plan),
                        .shared_memory = outputs_shared_memory(plan, spec)};
  return {print_pass(scores, "fa::StandardScores<fa::Config, fa::Hooks>", plan.min_ctas, true),
          print_pass(softmax, "fa::StandardSoftmax<fa::Config>", kSoftmaxBlocks, false),
          print_pass(outputs, "fa::StandardOutputs<fa::Config, fa::Hooks>", plan.min_ctas, true)};
}

std::vector<PrintedPass> print_flash1_passes(const CheckedSpec& spec, const Plan& plan) {
  const int columns = kMmaColumns * output_tiles(spec.head_dim_v, spec.dtype);
  const Pass tiles = {.entry = "facet_tiles",
                      .grid = Grid::heads,
                      .tile_q = plan.tile_q,
                      .tile_kv = plan.tile_kv,
                      .threads = threads_of(plan),
                      .shared_memory = tiles_shared_memory(plan, spec),
                      .sum_columns = columns};
  const Pass outputs = {.entry = "facet_outputs",
                        .grid = Grid::score_rows,
                        .tile_q = plan.tile_q,
                        .tile_kv = plan.tile_kv,
                        .threads = threads_of(plan),
                        .shared_memory = staged_output_bytes(plan, spec)};
  PrintedPass first = print_pass(tiles, "fa::Flash1Tiles<fa::Config, fa::Hooks>", plan.min_ctas, true);
  first.text += fmt::format("static_assert({}_pass::kColumns == {});\n", tiles.entry, columns);
  return {std::move(first),
          print_pass(outputs, "fa::Flash1Outputs<fa::Config, fa::Hooks>", plan.min_ctas, true)};
}

}  // namespace

std::vector<PrintedPass> print_baseline_passes(const CheckedSpec& spec, const Plan& plan) {
  return plan.loop_order == LoopOrder::kv_outer ? print_flash1_passes(spec, plan)
                                                : print_standard_passes(spec, plan);
}

}  // namespace fa
