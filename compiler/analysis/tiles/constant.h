// Tile classes that are one for all, which is worth a warning.
#pragma once

#include <optional>

#include "compiler/analysis/tiles/tile_class.h"

namespace fa {

/// The class of every tile of every problem (0 empty, 1 partial, 2 full), where it is proved to be one.
std::optional<int> constant_class(const TileClasses& classes);

}  // namespace fa
