// What is known of the tiles that a mask leaves, before its tensors are: for the cost model and for choosing.
#pragma once

#include <limits>

#include "compiler/schedule/plan.h"

namespace fa {

constexpr int kLongHook = 10;  // operations an element

/// Of all tiles, tile_q x tile_kv, how many a kernel visits where the mask keeps a band (analysis/band.h) or segments
/// (analysis/mask_segments.h, of a usual length): 0 to 1. 1 where there is no mask, or where nothing is known of it.
double share_of_tiles_kept(const Facts& facts, const Plan& plan, const ProblemSize& size);

/// The same of the row of tiles that has most, where the mask keeps a band: the last one's under a causal mask. 0 without a band.
double most_tiles_kept(const Facts& facts, const Plan& plan, const ProblemSize& size);

/// Whether what tiles at the mask's edge cost decides: the mask takes long, of which a thread has two rows of each of its columns,
/// or rows list keys, which may lie anywhere.
bool wants_small_tiles(const Facts& facts);

/// What of a mask cuts tiles, as far as it is known before its tensors are.
struct MaskEdges {
  // Queries and keys of the aligned blocks that the mask keeps as a whole; 1: it keeps single tokens.
  int queries = 1, keys = 1;
  // How many keys a row keeps side by side, and how many between lines that cut blocks, too; infinite: no edges.
  double keys_of_range = std::numeric_limits<double>::infinity();
  double keys_of_line = std::numeric_limits<double>::infinity();
  bool is_band = false;  // every row keeps one range, at the same distance

  /// By how much more a kernel computes than the mask keeps: tiles at its edge are whole, so that a row has tile_q + tile_kv
  /// keys more for each range of keys that it keeps, but where these lie inside a block.
  double excess(int tile_q, int tile_kv) const;
};

MaskEdges edges_of(const Facts& facts);

/// The excess of a plan's tiles; 1 where share_of_tiles_kept counts them.
double excess_at_edges(const Facts& facts, const Plan& plan);

}  // namespace fa
