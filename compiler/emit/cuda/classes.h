// Prints a mask's tile class and its summaries as the `struct Classes` kernels walk by
// (templates/common/tiles/tile_class.cuh is the contract).
#pragma once

#include <string>

#include "compiler/analysis/score_class.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "templates/common/tiles/tile_map.h"

namespace fa {

/// The text of `struct Classes` and of the functions it calls, in namespace fa; `using Classes = NoClasses;`
/// without a class.
std::string print_classes(const HookIr& hooks, const TileClasses& classes, const ScoreClass& score,
                          DType dtype);

/// The tile map of classes that have one. `has_plain`: score_mod has a class.
TileMapShape map_shape(const TileClasses& classes, bool has_plain);

}  // namespace fa
