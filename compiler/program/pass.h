// A GPU kernel is a program: a list of passes, functions of one module that are launched one after the other,
// with the same arguments. The emitter writes programs, bundles store them, launches run them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "templates/common/tiles/tile_map.h"

namespace fa {

/// What makes a pass's grid (grid.h): its blocks are counted when it is launched, from the sizes of the call.
enum class Grid : std::uint8_t {
  q_tiles,   // a block for each q tile of each head and batch entry
  tile_map,  // blocks that share the tiles of the map that the pass fills
  // As q_tiles, but heads of several batch entries may take turns at a tile: tiles are the longer the later they are, or the
  // first ones take longer than all others.
  last_q_tiles_first,
  first_q_tiles_first,
  // As q_tiles, but all heads read the same table at each element: more of them take turns at a tile.
  q_tiles_of_shared_table,
  // Of a baseline alone (docs/baselines.md):
  score_rows,  // a block for each tile_q rows of each head and batch entry
  heads,       // a block for each head and batch entry
  // Of the backward pass alone:
  row_stats,  // a block for tile_q rows, 128 of a head side by side, or fewer blocks; the pass finds BackwardParams::row_stats
  kv_tiles,   // a block for each kv tile of each kv head and batch entry
  // The same of kv_tiles: the first takes longer than all others, or each longer than those after it.
  first_kv_tiles_first,
  longest_kv_tiles_first,
  d_q_sums,  // a block for each tile_q rows of each head and batch entry; the pass makes elements of BackwardParams::d_q_sums, tile_kv columns a row
  exact_sums  // as many blocks for every call; the pass makes elements of BackwardParams::exact_sums
};

/// A captured gradient that is summed exactly, in the workspace, unless its elements have one writer each
/// (has_one_writer in templates/backward_params.h), who stores them.
struct ExactGradient {
  int number = 0;        // of BackwardParams::gradients
  bool is_once = false;  // within a head an element gets one term at most
  bool of_batch = false, of_head = false;

  bool operator==(const ExactGradient&) const = default;
};

/// One kernel launch.
struct Pass {
  std::string entry;  // the function's name in the module
  Grid grid = Grid::q_tiles;
  int tile_q = 0;  // grids count in tiles of this size
  int tile_kv = 0;
  int threads = 0;        // of a block
  int shared_memory = 0;  // dynamic bytes of a block
  // It may start while the pass before it still runs, or the caller's kernel before the first pass, and waits for that one
  // itself (templates/common/dependent_launch.cuh).
  bool overlaps = false;
  // Of a baseline: bytes of an element of S, which it leaves in the workspace, with the maxima of each row's tiles and
  // room for each row's sum (templates/baseline_params.h). 0: it leaves none.
  int score_bytes = 0;
  // Of a baseline: floats of a row of O, which it leaves in the workspace before they are divided, with room for each
  // row's maximum and sum. 0: it leaves none.
  int sum_columns = 0;
  // It fills a tile map of this shape in the workspace, for the passes after it, up to the next that does.
  std::optional<TileMapShape> tile_map = {};
  std::vector<ExactGradient> exact_gradients = {};  // whose elements it makes
};

using Program = std::vector<Pass>;

constexpr int kMostPasses = 16;

/// Whether its passes take BaselineParams.
bool is_baseline(const Program& program);

/// Dynamic shared memory of the pass that takes the most.
int most_shared_memory(const Program& program);

/// All that launching the program takes, a line for each pass. Programs with the same text are the same.
std::string print(const Program& program);

}  // namespace fa
