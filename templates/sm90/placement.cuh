// How work and scores are placed on sm_90: as on sm_80, for the accumulators of a warpgroup's products lie like
// those of m16n8, each warp with 16 rows of the 64.
#pragma once

#include "common/mma_place.cuh"
#include "common/placement.cuh"

namespace fa {

using WorkItem = BlockItem;
template <int kRowsPerWarp, int kTileKv>
using WarpPlace = MmaPlace<kRowsPerWarp, kTileKv>;

constexpr int kCopyingWarps = 4;  // of a CTA, after those that multiply
template <class Config>
constexpr int kCopyingThreads = kCopyingWarps * 32;
template <class Config>
__device__ __forceinline__ unsigned copying_thread() {
  return thread_of_cta() - Config::kWarps * 32;
}

/// Barrier 0 is for all warps.
template <class Config>
__device__ __forceinline__ void sync_multiplying_warps() {
  asm volatile("bar.sync 1, %0;" ::"n"(Config::kWarps * 32) : "memory");
}

/// The same, and whether any of their threads says so.
template <class Config>
__device__ __forceinline__ bool any_of_multiplying_warps(bool mine) {
  unsigned any;
  asm volatile(
      "{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbar.red.or.pred q, 1, %2, p;\nselp.u32 %0, 1, 0, q;\n}"
      : "=r"(any)
      : "r"(static_cast<unsigned>(mine)), "n"(Config::kWarps * 32)
      : "memory");
  return any != 0;
}

}  // namespace fa
