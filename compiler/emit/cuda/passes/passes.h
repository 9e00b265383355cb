// What each pass of a kernel adds to the translation unit, and how it is launched. A pass is one file of this
// folder and one line of print_passes (compiler/emit/cuda/source.cpp), which puts them in order.
#pragma once

#include <string>
#include <string_view>

#include "compiler/analysis/score_class.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/program/pass.h"
#include "compiler/schedule/plan.h"

namespace fa {

struct PrintedPass {
  Pass pass;
  std::string include;  // a header under templates/ beside the family's forward.cuh; empty without
  std::string text;     // the entry, and static_asserts that hold the device's numbers to those of `pass`
};

/// A pass that fills a tile map, and the words by which its entry names what it works on.
struct MapPass {
  std::string entry;
  int tile_q = 0, tile_kv = 0;
  std::string_view tiles;    // both, as template arguments
  std::string_view params;   // the type of the launch arguments
  std::string_view forward;  // the ForwardParams among them
};
PrintedPass print_map_pass(const TileClasses& classes, const ScoreClass& score_class, const MapPass& map);

/// Fills the tile map `classes` asks for; `classes.map` is there.
PrintedPass print_tile_map_pass(const TileClasses& classes, const ScoreClass& score_class, const Plan& plan);

/// Attention itself.
PrintedPass print_forward_pass(const Plan& plan, const Facts& facts, int shared_memory);

/// The order of a pass's tiles: the grid, and lines for templates/common/placement.cuh where heads of several batch entries may
/// take turns at a tile.
struct OrderOfTiles {
  Grid grid;
  std::string define;
};
OrderOfTiles order_of_q_tiles(const Facts& facts);
OrderOfTiles order_of_kv_tiles(const Facts& facts);

}  // namespace fa
