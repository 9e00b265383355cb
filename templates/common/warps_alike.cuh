// Placement where all warps of a CTA multiply and copy alike, and scores lie as products of m16n8 leave them. An
// architecture's placement.cuh adds what a CTA works on (common/placement.cuh).
#pragma once

#include "common/mma_place.cuh"
#include "common/placement.cuh"

namespace fa {

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
template <class Config>
__device__ __forceinline__ bool any_of_multiplying_warps(bool mine) {
  return __syncthreads_or(mine) != 0;
}

}  // namespace fa
