#include <fmt/format.h>

#include "compiler/emit/cuda/classes.h"
#include "compiler/emit/cuda/passes/passes.h"

namespace fa {

PrintedPass print_map_pass(const TileClasses& classes, const ScoreClass& score_class, const MapPass& map) {
  const Pass pass = {.entry = map.entry,
                     .grid = Grid::tile_map,
                     .tile_q = map.tile_q,
                     .tile_kv = map.tile_kv,
                     .threads = kMapThreads,
                     .tile_map = map_shape(classes, score_class.function != nullptr)};
  return {.pass = pass,
          .include = "common/tiles/tile_map.cuh",
          .text = fmt::format(R"(extern "C" __global__ void __launch_bounds__({threads}, fa::kMapBlocksAnSm)
    {entry}(const __grid_constant__ fa::{params} params) {{
  fa::await_pass_before();
  fa::let_next_pass_start();
  fa::TileMapPass<fa::Classes, {tiles}>({forward}).run();
}}
static_assert(fa::kMapThreads == {threads});
)",
                              fmt::arg("threads", pass.threads), fmt::arg("entry", pass.entry),
                              fmt::arg("params", map.params), fmt::arg("tiles", map.tiles),
                              fmt::arg("forward", map.forward))};
}

PrintedPass print_tile_map_pass(const TileClasses& classes, const ScoreClass& score_class, const Plan& plan) {
  return print_map_pass(classes, score_class,
                        {.entry = "facet_tile_map",
                         .tile_q = plan.tile_q,
                         .tile_kv = plan.tile_kv,
                         .tiles = "fa::Config::kTileQ, fa::Config::kTileKv",
                         .params = "ForwardParams",
                         .forward = "params"});
}

}  // namespace fa
