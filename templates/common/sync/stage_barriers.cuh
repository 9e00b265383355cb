// The barriers of a kv loop in two stages whose warps all copy and all multiply: which stages are full, which are empty, and
// whether what hooks read ahead in one buffer has been read. Every lane arrives, not one for its warp behind __syncwarp:
// compute-sanitizer's racecheck does not follow that, and reports hazards.
#pragma once

#include "common/placement.cuh"
#include "common/sync/barrier.cuh"

namespace fa {

/// `kOffset` is their place in shared memory. compiler/schedule/smem.cpp counts them, too.
template <int kOffset, int kWarps>
struct StageBarriers {
  static constexpr int kBytes = 5 * kBarrierBytes;
  unsigned smem;  // where shared memory starts

  __device__ __forceinline__ unsigned full(int stage) const { return smem + kOffset + stage * kBarrierBytes; }
  __device__ __forceinline__ unsigned empty(int stage) const {
    return smem + kOffset + (2 + stage) * kBarrierBytes;
  }
  __device__ __forceinline__ unsigned reads_empty() const { return smem + kOffset + 4 * kBarrierBytes; }

  /// By all threads of the CTA, before the first use.
  __device__ __forceinline__ void make() const {
    if (thread_of_cta() == 0) {
#pragma unroll
      for (int stage = 0; stage < 2; ++stage) {
        make_barrier(full(stage), kWarps * 32);
        make_barrier(empty(stage), kWarps * 32);
      }
      make_barrier(reads_empty(), kWarps * 32);
    }
    __syncthreads();
  }
};

}  // namespace fa
