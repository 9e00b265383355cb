// What a kernel asks of a mask's tile classes: `NoClasses` for hooks without, and the contract of the
// generated `Classes`.
#pragma once

#include "common/summaries.h"
#include "params.h"

namespace fa {

enum TileClass { kTileEmpty = 0, kTilePartial = 1, kTileFull = 2 };

struct NoClasses {
  static constexpr bool kHasTileClass = false;
  static constexpr bool kHasScoreClass = false;
};

/// The generated struct (compiler/emit/classes.cpp):
///
///   struct Classes {
///     static constexpr bool kHasTileClass = ...;   // without, every tile is full
///     static constexpr bool kHasScoreClass = ...;  // then the hooks are affine and multiply by the scale
///     alone static constexpr int kNumSummaries = ...; static constexpr SummaryShape shape(int which);
///     // The value that summary `which` takes the extrema of; idx is a q_idx or a kv_idx.
///     static int summary(int which, const ForwardParams& p, int b, int h, int idx);
///     // The class of rows q_lo..q_hi (q tile `q_tile`) and columns kv_lo..kv_hi, whose summaries are pair
///     `kv_pair` of
///     // their row: a tile's or a group's.
///     static int tile_class(const ForwardParams& p, const int2* const (&summaries)[...], int b, int h, int
///     q_lo, int q_hi,
///                           int kv_lo, int kv_hi, int q_tile, int kv_pair);
///     // Whether score_mod adds one and the same number to every score of the tile.
///     static bool score_is_plain(const ForwardParams& p, int b, int h, int q_lo, int q_hi, int kv_lo, int
///     kv_hi);
///   };
///
/// The row of each summary for one (b, h), found once a CTA.
template <class Classes>
struct SummaryRows {
  const int2* row[Classes::kNumSummaries > 0 ? Classes::kNumSummaries : 1];

  __device__ __forceinline__ SummaryRows(const ForwardParams& p, int tile_q, int tile_kv, int b, int h) {
    const int2* first = reinterpret_cast<const int2*>(p.summaries);
#pragma unroll
    for (int i = 0; i < Classes::kNumSummaries; ++i) {
      const SummaryShape shape = Classes::shape(i);
      row[i] = first + summary_row_index(shape, p, b, h) * summary_row(shape, p, tile_q, tile_kv);
      first += summary_pairs(shape, p, tile_q, tile_kv);
    }
  }
};

__device__ __forceinline__ int2 extrema_of_warp(int2 pair) {
  for (int distance = 16; distance > 0; distance /= 2)
    pair = {min(pair.x, __shfl_xor_sync(0xffffffffu, pair.x, distance)),
            max(pair.y, __shfl_xor_sync(0xffffffffu, pair.y, distance))};
  return pair;
}

/// Fills the summaries: CTA (g, h, b) those of group g, a tile a warp: the forward pass waits for it, and
/// what it waits for are reads one after the other. No shared memory but a pair a warp.
template <class Classes, int kTileQ, int kTileKv>
__device__ __forceinline__ void summarise(const ForwardParams& p) {
  __shared__ int2 of_warp[kTilesPerGroup];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int b = blockIdx.z;
  const int h = blockIdx.y;
  int2* first = reinterpret_cast<int2*>(p.summaries);
#pragma unroll 1  // one copy of the code for all: it is there to be compiled fast, not to run fast
  for (int which = 0; which < Classes::kNumSummaries; ++which) {
    const SummaryShape shape = Classes::shape(which);
    int2* const row = first + summary_row_index(shape, p, b, h) * summary_row(shape, p, kTileQ, kTileKv);
    first += summary_pairs(shape, p, kTileQ, kTileKv);
    if ((!shape.of_batch && b > 0) || (!shape.of_head && h > 0)) continue;
    const int tile = shape.of_query ? kTileQ : kTileKv;
    const int length = shape.of_query ? p.q_len : p.kv_len;
    const int tiles = summary_tiles(shape, p, kTileQ, kTileKv);
    if (static_cast<int>(blockIdx.x) * kTilesPerGroup >= tiles) continue;
    const int index = blockIdx.x * kTilesPerGroup + warp;
    int2 pair = {0x7fffffff, -0x7fffffff - 1};
    if (index < tiles) {
#pragma unroll 1
      for (int idx = index * tile + lane; idx < min((index + 1) * tile, length); idx += 32) {
        const int value = Classes::summary(which, p, b, h, idx);
        pair = {min(pair.x, value), max(pair.y, value)};
      }
      pair = extrema_of_warp(pair);
      if (lane == 0) row[index] = pair;
    }
    if (lane == 0) of_warp[warp] = pair;
    __syncthreads();
    if (warp == 0) {
      const int2 group = extrema_of_warp(of_warp[lane]);
      if (lane == 0) row[tiles + blockIdx.x] = group;
    }
    __syncthreads();
  }
}

}  // namespace fa
