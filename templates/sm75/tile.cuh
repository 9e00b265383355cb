// How tiles come in on sm_75: through registers. A copy loads when it starts, so that the loads run while the
// tile before is multiplied, and stores to shared memory when it settles, right before the barrier after
// which the tile is read.
//
// K and V are never on their way at once (one stage each), so the compiler gives both the same registers. A
// thread holds kHeld pieces at most; what a large tile has beyond them is loaded when it settles, with
// nothing to hide it.
#pragma once

#include "common/tile.cuh"
#include "sm75/mma.cuh"

namespace fa {

/// One tile on its way from global to shared memory. Every thread of the CTA takes part.
template <class Tile, int kThreads>
struct Copy {
  static constexpr int kMostHeld = 8;  // pieces, of four registers; schedule/registers.cpp counts them too
  static constexpr int kPieces = Tile::template kPiecesOfThread<kThreads>;
  static constexpr int kHeld = kPieces < kMostHeld ? kPieces : kMostHeld;

  uint4 held[kHeld];
  const char* base;
  int row_stride, first_row, length;

  static __device__ __forceinline__ uint4 load(const char* from, bool valid) {
    return valid ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
  }

  /// Starts copying rows first_row.. of a tensor (Tile::for_each_piece).
  __device__ __forceinline__ void start(unsigned to, const char* base_, int row_stride_, int first_row_,
                                        int length_) {
    keep(base_, row_stride_, first_row_, length_);
    fetch(to, 0);
  }

  /// The same of a tile that may lie past the last row. The branch keeps the addresses of the loads to themselves:
  /// computed among the products of a forward kernel's tile before, they would be spilled.
  __device__ __forceinline__ void start_if_any(unsigned to, const char* base_, int row_stride_,
                                               int first_row_, int length_) {
    keep(base_, row_stride_, first_row_, length_);
    if (first_row < length)
      fetch(to, 0);
    else
      for (uint4& piece : held) piece = make_uint4(0, 0, 0, 0);
  }

  /// Stores what start loaded to `to`, and copies the rest, kHeld pieces at a time.
  __device__ __forceinline__ void settle(unsigned to) {
#pragma unroll
    for (int first = 0; first < kPieces; first += kHeld) {
      if (first > 0) fetch(to, first);
      for_each_piece(to, first,
                     [&](int i, unsigned smem, const char*, bool) { store_shared_16(smem, held[i]); });
    }
  }

 private:
  __device__ __forceinline__ void keep(const char* base_, int row_stride_, int first_row_, int length_) {
    base = base_;
    row_stride = row_stride_;
    first_row = first_row_;
    length = length_;
  }

  __device__ __forceinline__ void fetch(unsigned to, int first) {
    for_each_piece(to, first,
                   [&](int i, unsigned, const char* from, bool valid) { held[i] = load(from, valid); });
  }

  /// The kHeld pieces from `first` on, numbered from 0.
  template <class Body>
  __device__ __forceinline__ void for_each_piece(unsigned to, int first, Body body) {
    Tile::template for_each_piece<kThreads>(to, base, row_stride, first_row, length,
                                            [&](int i, unsigned smem, const char* from, bool valid) {
                                              if (i >= first && i < first + kHeld)
                                                body(i - first, smem, from, valid);
                                            });
  }
};

/// kBytes, side by side in both memories and aligned to 16.
template <int kBytes, int kThreads>
struct CopyPieces {
  static constexpr int kHeld = (kBytes + 16 * kThreads - 1) / (16 * kThreads);
  uint4 held[kHeld];

  __device__ __forceinline__ void start(unsigned, const void* from) {
    for_each_piece([&](int i, int at) {
      held[i] = *reinterpret_cast<const uint4*>(static_cast<const char*>(from) + at);
    });
  }
  __device__ __forceinline__ void settle(unsigned to) {
    for_each_piece([&](int i, int at) { store_shared_16(to + at, held[i]); });
  }

 private:
  template <class Body>
  static __device__ __forceinline__ void for_each_piece(Body body) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      if (const int at = 16 * (i * kThreads + static_cast<int>(thread_of_cta())); at < kBytes) body(i, at);
  }
};

/// Copies have no groups here, and nothing to wait for.
__device__ __forceinline__ void close_copies() {}
template <int kPending>
__device__ __forceinline__ void await_copies() {}

}  // namespace fa
