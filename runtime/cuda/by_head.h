// Whether the passes of a backward call wait for each other head by head (templates/common/backward/head_counts.cuh).
#pragma once

#include <cstdint>

#include "compiler/program/pass.h"
#include "runtime/cuda/device.h"
#include "templates/params.h"

namespace fa {

/// Whether the pass is launched so that it may start before the one before it has ended.
bool overlaps_on(const Pass& pass, const DeviceInfo& gpu);

/// Blocks that the pass which finds row stats gets where those after it wait for its heads; 0 where they wait for whole passes.
///
/// They do where finding takes long enough, by blocks that take an SM whole, on a GPU whose passes overlap: a quarter of the
/// SMs find stats, and the others go on with the heads that are found. Not where the next pass begins with many heads at
/// once, as with the tiles of global tokens: it would wait longer than all SMs take to find the stats.
int blocks_of_stats_by_head(const Program& program, const CallParams& call, std::int64_t kv_bytes,
                            const DeviceInfo& gpu);

}  // namespace fa
