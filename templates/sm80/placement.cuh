// How work and scores are placed on sm_80: a CTA does one item, and scores lie as products of m16n8 leave
// them.
#pragma once

#include "common/mma_place.cuh"
#include "common/placement.cuh"

namespace fa {

using WorkItem = BlockItem;
template <int kRowsPerWarp, int kTileKv>
using WarpPlace = MmaPlace<kRowsPerWarp, kTileKv>;

/// All threads copy.
template <class Config>
constexpr int kCopyingThreads = Config::kWarps * 32;
template <class Config>
__device__ __forceinline__ unsigned copying_thread() {
  return thread_of_cta();
}

template <class Config>
__device__ __forceinline__ void sync_multiplying_warps() {
  __syncthreads();
}

}  // namespace fa
