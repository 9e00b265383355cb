// The share of tiles that a relative mask leaves, for the cost model.
#pragma once

#include "compiler/schedule/plan.h"

namespace fa {

/// Of all tiles, tile_q x tile_kv, how many a kernel visits where the mask keeps a band (analysis/band.h): 0 to 1. 1 where
/// there is no mask, or where it is not known to be one of a band.
double share_of_band(const Facts& facts, const Plan& plan, const ProblemSize& size);

}  // namespace fa
