// A picture of a tile grid: text for a terminal, SVG for a page.
#pragma once

#include <string>

#include "tools/tiles/mask_probe.h"

namespace fa::tools {

/// Lines of at most `width` characters, q downwards, kv to the right; a character stands for one tile or for
/// a block of them: · empty, █ full, ▒ partial or of several classes.
std::string tile_map_text(const TileGrid& grid, int width, int height);
/// How many tiles one character of tile_map_text stands for: {rows, columns}.
std::pair<int, int> tile_map_cell(const TileGrid& grid, int width, int height);

/// A whole SVG document with axes and a legend; grids beyond 512 x 512 tiles are drawn in blocks.
std::string tile_map_svg(const TileGrid& grid, const std::string& title);

}  // namespace fa::tools
