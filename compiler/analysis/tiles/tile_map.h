// What the search for a tile's class has to know of a mask (templates/common/tiles/tile_parts.h): which of its
// elements are alike, and how many of them a tile is worth.
#pragma once

#include "compiler/analysis/tiles/alike.h"
#include "compiler/analysis/tiles/tile_class.h"

namespace fa {

TileMap describe_tile_map(const llvm::Function& mask, const AlikeLines& rows, const AlikeLines& columns);

}  // namespace fa
