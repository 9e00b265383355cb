// How a pass of a large backward call waits for the heads of the pass before it one by one, and not for all of it. The row
// stats and the last pass of dQ wait for memory, the pass of keys between them for the tensor cores: the three then run
// side by side. They may: a pass starts once each CTA of the one before has come to let_next_pass_start, so that what a CTA
// waits for has a place on the GPU, or has ended.
//
// A count for each head of q, of tiles of rows whose stats are found, then one for each kv head, of CTAs that have added their
// parts of dQ.
#pragma once

#include "backward_params.h"
#include "common/dependent_launch.h"
#include "common/instructions.cuh"
#include "common/placement.cuh"
#include "common/sequence.cuh"

namespace fa {

struct HeadCounts {
  /// Whether the call's passes wait for heads. Else they wait for whole passes.
  static __device__ __forceinline__ bool are_kept(const BackwardParams& params) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < FA_OVERLAPS_FROM * 10
    return false;
#else
    return params.head_counts != nullptr;
#endif
  }

  /// By all threads of a CTA: waits until the stats of all tiles of the head are found.
  static __device__ __forceinline__ void await_stats(const BackwardParams& params, int b, int h) {
    await(of_stats(params, b, h), padded_tiles(Sequence::q_len(params.forward.call, b)));
  }
  /// The same of CTAs, one for each of its kv tiles, that have added their parts of dQ.
  static __device__ __forceinline__ void await_keys(const BackwardParams& params, int b, int kv_head,
                                                    int kv_tiles) {
    await(of_keys(params, b, kv_head), kv_tiles);
  }

  /// By all threads of a CTA's team, when they have found the stats of a tile of the head. One warp waits until the others
  /// see what they wrote.
  template <int kTeam>
  static __device__ __forceinline__ void count_tile_of_stats(const BackwardParams& params, int b, int h) {
    sync_some(1 + static_cast<int>(thread_of_cta()) / kTeam, kTeam);
    if (thread_of_cta() % kTeam == 0) count_up(of_stats(params, b, h));
  }
  /// By all threads of a CTA, behind a barrier.
  static __device__ __forceinline__ void count_cta_of_keys(const BackwardParams& params, int b, int kv_head) {
    if (thread_of_cta() == 0) count_up(of_keys(params, b, kv_head));
  }

 private:
  static __device__ __forceinline__ unsigned* of_stats(const BackwardParams& params, int b, int h) {
    return params.head_counts + Sequence::head_number(params.forward.call, b, h);
  }
  static __device__ __forceinline__ unsigned* of_keys(const BackwardParams& params, int b, int kv_head) {
    const CallParams& call = params.forward.call;
    return params.head_counts + static_cast<long long>(call.batch) * call.num_q_heads +
           static_cast<long long>(b) * call.num_kv_heads + kv_head;
  }
  static __device__ __forceinline__ void await(const unsigned* count, int all) {
    if (thread_of_cta() == 0) await_count(count, static_cast<unsigned>(all));
    __syncthreads();
  }
};

}  // namespace fa
