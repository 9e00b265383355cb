// A built kernel and what launching it takes: what NVRTC's end hands to the driver's, at once or through a
// bundle.
#pragma once

#include <optional>
#include <string>

#include "templates/common/tiles/tile_map.h"

namespace fa {

/// What launching a kernel takes beyond its arguments.
struct Launch {
  int threads = 0;
  int tile_q = 0;
  int tile_kv = 0;
  int shared_memory = 0;                      // dynamic bytes
  std::optional<TileMapShape> tile_map = {};  // filled by a kernel of its own before the forward pass
  int tile_map_threads = 0;                   // of that kernel
  bool overlaps_tile_map = false;             // the forward kernel may start while that one runs
};

/// A kernel's code.
struct Binary {
  std::string image;  // a cubin; or PTX where NVRTC is older than the device, which the driver then compiles
  std::string entry;
  std::string tile_map_entry = {};
  Launch launch = {};
  int registers = 0;  // 0 of PTX
  int spill_bytes = 0;
};

}  // namespace fa
