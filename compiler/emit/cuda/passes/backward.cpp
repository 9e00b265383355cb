#include "compiler/emit/cuda/passes/backward.h"

#include <fmt/format.h>

#include "compiler/schedule/backward/backward_legal.h"
#include "compiler/schedule/shape.h"
#include "templates/backward_params.h"

namespace fa {
namespace {

// The teams of row stats that an SM is to hold, which bounds the registers of a thread: the pass waits for memory alone, so many
// threads are to ask for it.
constexpr int kRowStatsTeams = 4;
constexpr int kRowStatsTeam = 256;  // threads
// Where waiting for heads costs more than it hides. A band of fewer keys leaves the other passes too little to do (B2 N8192
// bf16, an H100: 64 keys 1.07 of the time at d128 and 1.12 at d64, 128 keys 1.02 and 1.08; 192 keys 0.99 and 256 keys 0.96 at
// d128). Of shorter rows a block finds no more at once, and so moves fewer bytes (an H200, d64: `document` 1.04).
constexpr int kFewKeys = 256;
constexpr int kShortRow = 256;  // bytes
constexpr int kExactSumsThreads = 256;

/// A pass that is a struct's static `run`, with the struct's own numbers held to those of the pass.
static_assert(kRowsPadded == kMostQueryRows);

std::string print_entry(const Pass& pass, std::string_view runs) {
  return fmt::format(R"(extern "C" __global__ void __launch_bounds__({threads})
    {entry}(const __grid_constant__ fa::BackwardParams params) {{
  fa::let_next_pass_start();
  {runs}::run(params);
}}
static_assert({runs}::kThreads == {threads});
)",
                     fmt::arg("threads", pass.threads), fmt::arg("entry", pass.entry),
                     fmt::arg("runs", runs));
}

std::string print_shared_memory(const Pass& pass, std::string_view runs) {
  return fmt::format("static_assert({}::kSharedBytes == {});\n", runs, pass.shared_memory);
}

PrintedPass print_keys_pass(std::string entry, std::string_view gradients, const BackwardPlan& plan,
                            Grid grid, int shared_memory) {
  const Pass pass = {.entry = std::move(entry),
                     .grid = grid,
                     .tile_q = plan.keys.tile_q,
                     .tile_kv = plan.keys.tile_kv,
                     .threads = plan.keys.warps * kWarpThreads,
                     .shared_memory = shared_memory};
  const std::string name = pass.entry + "_keys";
  return {.pass = pass,
          .include = {},
          .text = fmt::format("using {} = fa::BackwardKeys<fa::KeysConfig, fa::Hooks, fa::Classes, "
                              "fa::Derivatives, {}>;\n",
                              name, gradients) +
                  print_entry(pass, name) + print_shared_memory(pass, name)};
}

}  // namespace

PrintedPass print_row_stats_pass(const CheckedSpec& spec, const BackwardNeeds& needs, bool overlap) {
  const bool keeps_few = needs.edges.is_band && needs.edges.keys_of_range < kFewKeys;
  const bool is_short = spec.head_dim_v * dtype_bytes(spec.dtype) < kShortRow;
  // A block of all teams takes an SM whole: the next passes may wait for heads (runtime/cuda/by_head.h).
  const int teams = overlap && !keeps_few && !is_short ? kRowStatsTeams : 1;
  const Pass pass = {.entry = "facet_row_stats",
                     .grid = Grid::row_stats,
                     .tile_q = teams * kRowsPadded,
                     .tile_kv = 1,  // has no part in it
                     .threads = teams * kRowStatsTeam};
  return {.pass = pass,
          .include = {},
          .text = fmt::format(
              R"(using facet_rows = fa::RowStatsPass<fa::QueriesConfig, fa::Hooks, fa::Derivatives, {teams}>;
extern "C" __global__ void __launch_bounds__({threads}, {blocks})
    {entry}(const __grid_constant__ fa::BackwardParams params) {{
  facet_rows::run(params);
}}
static_assert(facet_rows::kThreads == {threads} && facet_rows::kRows == {rows});
)",
              fmt::arg("teams", teams), fmt::arg("threads", pass.threads),
              fmt::arg("blocks", kRowStatsTeams / teams), fmt::arg("entry", pass.entry),
              fmt::arg("rows", pass.tile_q))};
}

PrintedPass print_backward_map_pass(const TileClasses& classes, const ScoreClass& score_class,
                                    const TilePass& tiles, std::string_view of) {
  return print_map_pass(classes, score_class,
                        {.entry = fmt::format("facet_tile_map_of_{}", of),
                         .tile_q = tiles.tile_q,
                         .tile_kv = tiles.tile_kv,
                         .tiles = of == "keys" ? "fa::KeysConfig::kTileQ, fa::KeysConfig::kTileKv"
                                               : "fa::QueriesConfig::kTileQ, fa::QueriesConfig::kTileKv",
                         .params = "BackwardParams",
                         .forward = "params.forward"});
}

std::vector<PrintedPass> print_keys_passes(const CheckedSpec& spec, const Facts& facts,
                                           const BackwardPlan& plan, const BackwardNeeds& needs) {
  const Grid grid = order_of_kv_tiles(facts).grid;
  const int shared = keys_shared_memory(plan, spec);
  const int sums = captured_shared_memory(plan.keys, needs);
  if (!plan.apart)
    return {print_keys_pass("facet_d_kv",
                            plan.dq_by_sums ? "fa::kGradientK | fa::kGradientV | fa::kGradientQ"
                                            : "fa::kGradientK | fa::kGradientV",
                            plan, grid, shared + sums)};
  return {print_keys_pass("facet_d_k", "fa::kGradientK", plan, grid, shared + sums),
          print_keys_pass("facet_d_v", "fa::kGradientV", plan, grid, shared)};
}

PrintedPass print_query_sums_pass(const CheckedSpec& spec) {
  const Pass pass = {.entry = "facet_d_q",
                     .grid = Grid::d_q_sums,
                     .tile_q = kRowsPadded,
                     .tile_kv = output_tiles(spec.head_dim, spec.dtype) * kMmaColumns,  // columns of the sums
                     .threads = kRowsPadded / kMmaRows * kWarpThreads,
                     .shared_memory = spec.dtype == DType::f32
                                          ? 0
                                          : kRowsPadded * pages(spec.head_dim, spec.dtype) * kPageRowBytes};
  return {.pass = pass,
          .include = {},
          .text = "using facet_query_sums = fa::QuerySumsPass<fa::KeysConfig>;\n" +
                  print_entry(pass, "facet_query_sums") + print_shared_memory(pass, "facet_query_sums")};
}

PrintedPass print_queries_pass(const CheckedSpec& spec, const Facts& facts, const BackwardPlan& plan) {
  const Pass pass = {.entry = "facet_d_q",
                     .grid = order_of_q_tiles(facts).grid,
                     .tile_q = plan.queries.tile_q,
                     .tile_kv = plan.queries.tile_kv,
                     .threads = plan.queries.warps * kWarpThreads,
                     .shared_memory = queries_shared_memory(plan, spec)};
  return {.pass = pass,
          .include = {},
          .text =
              "using facet_queries = fa::BackwardQueries<fa::QueriesConfig, fa::Hooks, fa::Classes, "
              "fa::Derivatives>;\n" +
              print_entry(pass, "facet_queries") + print_shared_memory(pass, "facet_queries")};
}

PrintedPass print_exact_sums_pass(std::vector<ExactGradient> gradients) {
  const Pass pass = {.entry = "facet_captured",
                     .grid = Grid::exact_sums,
                     .tile_q = 1,  // tiles have no part in it
                     .tile_kv = 1,
                     .threads = kExactSumsThreads,
                     .exact_gradients = std::move(gradients)};
  return {.pass = pass, .include = {}, .text = print_entry(pass, "fa::ExactSumsPass")};
}

}  // namespace fa
