// Which heads take turns at each tile of a pass (head_shift in templates/params.h): chosen at each launch, from the sizes of the
// call and the GPU's caches.
#pragma once

#include <cstdint>

#include "compiler/program/pass.h"
#include "runtime/cuda/device.h"
#include "templates/params.h"

namespace fa {

/// Sets what says how a pass's blocks are numbered. `kv_bytes`: K and V of a kv head.
///
/// Up to four heads take turns at a q tile, as long as their K and V fit the L2 cache together: more heads
/// shorten the end of a launch (a causal mask at 16384 rows: 6% of the ideal time with one, 0.2% with four
/// and with 16), but what tiles of one head read in common would fall out of it. So do kv heads at a kv tile. Up to eight do
/// where they share a table that is larger than the cache. Where turns cross batch entries, as many heads do as the pass's tiles
/// need.
void number_blocks(const Pass& pass, std::int64_t kv_bytes, const DeviceInfo& gpu, ForwardParams& params);

}  // namespace fa
