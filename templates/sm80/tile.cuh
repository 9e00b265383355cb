// How tiles come in on sm_80: cp.async writes shared memory itself, so a copy holds nothing and only groups
// are waited for.
#pragma once

#include "common/tile.cuh"
#include "sm80/mma.cuh"

namespace fa {

/// One tile on its way from global to shared memory. Every thread of the CTA takes part.
template <class Tile, int kThreads>
struct Copy {
  /// Starts copying rows first_row.. of a tensor (Tile::for_each_piece) to `to`.
  __device__ __forceinline__ void start(unsigned to, const char* base, int row_stride, int first_row,
                                        int length) {
    Tile::template for_each_piece<kThreads>(
        to, base, row_stride, first_row, length,
        [](int, unsigned smem, const char* from, bool valid) { cp_async_16(smem, from, valid); });
  }

  /// The same of a tile that may lie past the last row, which is one of zeros (common/forward.cuh says why no branch).
  __device__ __forceinline__ void start_if_any(unsigned to, const char* base, int row_stride, int first_row,
                                               int length) {
    start(to, base, row_stride, first_row, length);
  }

  /// What is left to do before the barrier after which the tile is read: nothing here.
  __device__ __forceinline__ void settle(unsigned) {}
};

/// kBytes, side by side in both memories and aligned to 16.
template <int kBytes, int kThreads>
struct CopyPieces {
  __device__ __forceinline__ void start(unsigned to, const void* from) {
    constexpr int kPass = 16 * kThreads;
#pragma unroll
    for (int pass = 0; pass < kBytes; pass += kPass) {
      const int at = pass + 16 * static_cast<int>(thread_of_cta());
      if (pass + kPass <= kBytes || at < kBytes)
        cp_async_16(to + at, static_cast<const char*>(from) + at, true);
    }
  }
  __device__ __forceinline__ void settle(unsigned) {}
};

/// Closes the group of copies started since the last.
__device__ __forceinline__ void close_copies() { cp_async_commit(); }

/// Waits until at most kPending of this thread's newest groups are still in flight.
template <int kPending>
__device__ __forceinline__ void await_copies() {
  cp_async_wait<kPending>();
}

}  // namespace fa
