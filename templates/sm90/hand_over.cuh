// How the warps that copy and those that multiply hand over stages of K and V, in barriers and a word in shared memory:
//
//   full   K, or V, of a stage has arrived           copying warps arrive, multiplying ones wait
//   empty  products and hooks have read it           multiplying warps arrive, copying ones wait
//   told   the word says whether all tiles are       one multiplying thread arrives, copying warps wait
//          visited again (common/row_references.cuh)
#pragma once

#include "common/placement.cuh"
#include "common/sync/barrier.cuh"

namespace fa {

/// `kOffset` is their place in shared memory. compiler/schedule/smem.cpp counts them, too.
template <int kOffset, int kWarps, int kCopyingWarps>
struct HandOver {
  static constexpr int kBytes = 10 * kBarrierBytes;
  unsigned smem;  // where shared memory starts

  __device__ __forceinline__ unsigned k_full(int stage) const { return at(stage); }
  __device__ __forceinline__ unsigned k_empty(int stage) const { return at(2 + stage); }
  __device__ __forceinline__ unsigned v_full(int stage) const { return at(4 + stage); }
  __device__ __forceinline__ unsigned v_empty(int stage) const { return at(6 + stage); }

  /// By all threads of the CTA, before the first use. `k_readers`: how many threads of a warp give K back.
  __device__ __forceinline__ void make(int k_readers) const {
    if (thread_of_cta() == 0) {
#pragma unroll
      for (int stage = 0; stage < 2; ++stage) {
        make_barrier(k_full(stage), kCopyingWarps * 32);
        make_barrier(v_full(stage), kCopyingWarps * 32);
        make_barrier(k_empty(stage), kWarps * k_readers);
        make_barrier(v_empty(stage), kWarps);
      }
      make_barrier(told(), 1);
    }
    __syncthreads();
  }

  /// By the multiplying warps, after each visit of all tiles.
  __device__ __forceinline__ void tell(bool again) const {
    if (thread_of_cta() != 0) return;
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(word()), "r"(static_cast<unsigned>(again)) : "memory");
    arrive(told());
  }

  /// By the copying warps, after that visit, the first of which is visit 0.
  __device__ __forceinline__ bool is_told_to_repeat(int visit) const {
    wait(told(), visit & 1);
    unsigned again;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(again) : "r"(word()) : "memory");
    return again != 0;
  }

 private:
  __device__ __forceinline__ unsigned at(int i) const { return smem + kOffset + i * kBarrierBytes; }
  __device__ __forceinline__ unsigned told() const { return at(8); }
  __device__ __forceinline__ unsigned word() const { return at(9); }
};

}  // namespace fa
