// How much of a problem its mask leaves, for predictions: quicker than a whole report (tools/tiles/tiles.h).
#pragma once

#include <optional>

#include "tools/problem/problem.h"

namespace fa::tools {

/// The share of tiles that are not empty, on the example tensors, or those of `inputs`; of some heads where a
/// mask tells many apart. Nothing where counting them would take long, or the tensors would be large.
std::optional<double> share_of_tiles(const Spec& spec, const ProblemInputs& inputs, int tile_q, int tile_kv);

}  // namespace fa::tools
