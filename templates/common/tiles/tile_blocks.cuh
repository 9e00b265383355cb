// Tiles of a few blocks of lines that are alike to a mask: one element of each block shows them, asked by one
// lane. Part of the pass that fills the tile map (common/tiles/tile_map.cuh).
#pragma once

#include "common/tiles/tile_class.cuh"
#include "common/tiles/tile_parts.h"
#include "params.h"

namespace fa {

/// How many blocks, at most, an aligned tile of `tile` lines touches.
__host__ __device__ constexpr int most_blocks(int tile, int block) {
  return tile % block == 0 ? tile / block : block % tile == 0 ? 1 : (tile - 2) / block + 2;
}

template <class Classes, int kTileQ, int kTileKv>
struct TileBlocks {
  static constexpr Alike kAlike = Classes::kAlike;
  static constexpr int kRows = most_blocks(kTileQ, kAlike.row_block);  // of blocks in a tile, at most
  static constexpr int kColumns = most_blocks(kTileKv, kAlike.column_block);
  static constexpr int kOpen = 16;  // beside a tile's class: only a search finds it

  /// The extrema of summaries over the few blocks of a box. All are asked of a block at once: what takes time
  /// is to wait for reads.
  struct Pairs {
    int2 all[Classes::kNumQuerySummaries + Classes::kNumKeySummaries + 1];

    __device__ __forceinline__ Pairs(const ForwardParams& p, int b, int h, const TileBox& box) {
      add<0, Classes::kNumQuerySummaries>(box.q_lo, box.q_hi, kAlike.row_block, [&](int which, int i) {
        return Classes::query_summary(which, p.call, b, h, i);
      });
      add<Classes::kNumQuerySummaries, Classes::kNumKeySummaries>(
          box.kv_lo, box.kv_hi, kAlike.column_block,
          [&](int which, int i) { return Classes::key_summary(which, p.call, b, h, i); });
    }

    template <int kFirst, int kCount, class Summary>
    __device__ __forceinline__ void add(int first, int last, int block, Summary summary) {
#pragma unroll
      for (int which = 0; which < kCount; ++which) all[kFirst + which] = {0x7fffffff, -0x7fffffff - 1};
#pragma unroll 1
      for (int i = first; kCount > 0 && i <= last; i = (i / block + 1) * block) {
#pragma unroll
        for (int which = 0; which < kCount; ++which) {
          const int value = summary(which, i);
          int2& pair = all[kFirst + which];
          pair = {min(pair.x, value), max(pair.y, value)};
        }
      }
    }

    __device__ __forceinline__ int2 operator()(int which) const { return all[which]; }
  };

  /// What bounds say of a tile or a part of a tile of few blocks.
  __device__ __noinline__ static int class_of_box(const ForwardParams& p, int b, int h, TileBox box) {
    if (is_empty_for_any_tensor<Classes>(p, b, h, box)) return kTileEmpty;  // reads nothing
    return Classes::tile_class(p.call, Pairs(p, b, h, box), b, h, box.q_lo, box.q_hi, box.kv_lo, box.kv_hi);
  }

  /// The class of a tile of few blocks, or kOpen and what is alike in it.
  static __device__ __forceinline__ int class_of_tile(const ForwardParams& p, int b, int h,
                                                      const TileBox& tile) {
    if constexpr (kAlike.always == kBothAlike) {
      return class_of_blocks(p, b, h, tile);
    } else {
      // Bounds read summaries of each row and column of blocks: asking an element of each block is no more work where
      // there are few.
      int found =
          kRows * kColumns <= kRows + kColumns ? class_for_any_tensor<Classes>(p, b, h, tile) : kTilePartial;
      if ((found & kTileClassBits) == kTilePartial && (found & kBothAlike) != kBothAlike)
        found = class_of_box(p, b, h, tile);
      if ((found & kTileClassBits) != kTilePartial) return found & kTileClassBits;
      return (found & kBothAlike) == kBothAlike ? class_of_blocks(p, b, h, tile) : found | kOpen;
    }
  }

  /// The class of a tile whose blocks are alike.
  static __device__ __forceinline__ int class_of_blocks(const ForwardParams& p, int b, int h,
                                                        const TileBox& tile) {
    bool keeps = false, drops = false;
#pragma unroll 1
    for (int q = tile.q_lo; q <= tile.q_hi; q = (q / kAlike.row_block + 1) * kAlike.row_block) {
#pragma unroll 1
      for (int kv = tile.kv_lo; kv <= tile.kv_hi; kv = (kv / kAlike.column_block + 1) * kAlike.column_block) {
        const bool kept = Classes::keeps(p.call, b, h, q, kv);
        keeps |= kept;
        drops |= !kept;
      }
    }
    return keeps ? drops ? kTilePartial : kTileFull : kTileEmpty;
  }
};

}  // namespace fa
