// The kv tiles of a q tile, as a walk asks for them (common/tiles/tile_walk.cuh).
#pragma once

#include "common/placement.cuh"
#include "common/tiles/tile_class.cuh"
#include "params.h"

namespace fa {

/// Their classes are in the tile map, or `Classes::tile_class` finds them here. What classes are asked
/// with is found again every time: the kv loop has no register to spare. Where `kHidesQTile`, ptxas cannot keep it either.
template <class Classes_, int kTileQ, int kTileKv, bool kKeepsQTile, bool kHidesQTile = false>
struct KeyTiles {
  using Classes = Classes_;
  WorkItem item;

  static constexpr int kTile = kTileKv;
  __device__ __forceinline__ int length(const ForwardParams& params) const { return item.kv_len(params); }

  __device__ __forceinline__ int num_tiles(const ForwardParams& params) const {
    return (length(params) + kTile - 1) / kTile;
  }

  __device__ __forceinline__ int find_q_tile(const ForwardParams& params) const {
    return item.template q_tile<kKeepsQTile>(params, kTileQ);
  }

  /// The class of `count` tiles from `first` on, one tile or a group of 32, and kTilePlain. Empty past the
  /// end, and not full where the end cuts it: its columns past the end are to be dropped.
  __device__ __forceinline__ int classify(const ForwardParams& params, int first, int count) const {
    int q_tile;
    // ptxas does not know that a shuffle returns the same number in each search.
    if constexpr (kHidesQTile) q_tile = __shfl_sync(0xffffffffu, find_q_tile(params), lane_of_warp());
    if (first >= num_tiles(params)) return kTileEmpty;
    const auto [b, h] = item.head(params);
    if constexpr (!kHidesQTile) q_tile = find_q_tile(params);
    if constexpr (Classes::kHasTileMap) {
      const MapWord word = read_map<Classes>(params, kTileQ, kTileKv, b, h, q_tile, first / kTilesPerWord);
      const unsigned tiles = count == 1 ? 1u << first % kTilesPerWord : 0xffffffffu;
      if ((word.some & tiles) == 0) return kTileEmpty;
      return ((word.full & tiles) == tiles ? kTileFull : kTilePartial) |
             (Classes::kHasScoreClass && (word.plain & tiles) == tiles ? kTilePlain : 0);
    } else {
      const int q_lo = q_tile * kTileQ;
      const int q_hi = min(q_lo + kTileQ, item.q_len(params)) - 1;
      const int kv_lo = first * kTileKv;
      const int kv_hi = min(kv_lo + count * kTileKv, item.kv_len(params)) - 1;
      int tile_class = Classes::tile_class(params.call, 0, b, h, q_lo, q_hi, kv_lo, kv_hi);
      if (tile_class == kTileFull && kv_lo + count * kTileKv > item.kv_len(params)) tile_class = kTilePartial;
      if constexpr (!Classes::kHasScoreClass) return tile_class;
      const bool plain = Classes::score_is_plain(params.call, b, h, q_lo, q_hi, kv_lo, kv_hi);
      return tile_class != kTileEmpty && plain ? tile_class | kTilePlain : tile_class;
    }
  }
};

}  // namespace fa
