// What is known of the tiles that a mask leaves, before its tensors are: for the cost model and for choosing.
#pragma once

#include "compiler/schedule/plan.h"

namespace fa {

constexpr int kLongHook = 10;  // operations an element

/// Of all tiles, tile_q x tile_kv, how many a kernel visits where the mask keeps a band (analysis/band.h): 0 to 1. 1 where
/// there is no mask, or where it is not known to be one of a band.
double share_of_band(const Facts& facts, const Plan& plan, const ProblemSize& size);

/// Whether a mask takes so long that what tiles at its edge cost decides. A thread has two rows of each of its columns.
bool has_long_mask(const Facts& facts);

/// By how much more a kernel computes than a mask keeps: tiles at its edge are whole, so that a row has tile_q + tile_kv
/// keys more for each range of keys that it keeps, but where it lies inside a block of the mask. 1 where share_of_band counts
/// tiles.
double excess_at_edges(const Facts& facts, const Plan& plan);

}  // namespace fa
