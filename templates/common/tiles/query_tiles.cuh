// The q tiles of a kv tile, as a walk asks for them (common/tiles/tile_walk.cuh): what a kernel that keeps K
// and V and lets Q pass by goes through.
#pragma once

#include "common/tiles/tile_class.cuh"
#include "params.h"

namespace fa {

/// `Item` says what the CTA works on: `head`, `q_len`, `kv_len` as in common/placement.cuh, and
/// `kv_tile(params)`.
template <class Classes_, int kTileQ, int kTileKv, class Item>
struct QueryTiles {
  using Classes = Classes_;
  Item item;

  static constexpr int kTile = kTileQ;
  __device__ __forceinline__ int length(const ForwardParams& params) const { return item.q_len(params); }

  __device__ __forceinline__ int num_tiles(const ForwardParams& params) const {
    return (length(params) + kTile - 1) / kTile;
  }

  /// The class of `count` tiles from `first` on, one tile or a group of 32, and kTilePlain. Empty past the
  /// end, and not full where an end cuts it, of the keys or the queries: rows past the end would be added up.
  __device__ __forceinline__ int classify(const ForwardParams& params, int first, int count) const {
    if (first >= num_tiles(params)) return kTileEmpty;
    const auto [b, h] = item.head(params);
    const int q_lo = first * kTileQ;
    const int q_end = q_lo + count * kTileQ;
    const int kv_tile = item.kv_tile(params);
    const int kv_lo = kv_tile * kTileKv;
    const bool is_cut = q_end > item.q_len(params) || kv_lo + kTileKv > item.kv_len(params);
    if constexpr (Classes::kHasTileMap) {
      if (count > 1) return kTilePartial;  // a word of the map tells of kv tiles: its q tiles are 32 words
      const MapWord word = read_map<Classes>(params, kTileQ, kTileKv, b, h, first, kv_tile / kTilesPerWord);
      const unsigned tile = 1u << kv_tile % kTilesPerWord;
      if ((word.some & tile) == 0) return kTileEmpty;
      return ((word.full & tile) != 0 && !is_cut ? kTileFull : kTilePartial) |
             (Classes::kHasScoreClass && (word.plain & tile) != 0 ? kTilePlain : 0);
    } else {
      const TileBox box = {q_lo, min(q_end, item.q_len(params)) - 1, kv_lo,
                           min(kv_lo + kTileKv, item.kv_len(params)) - 1};
      int tile_class = Classes::tile_class(params.call, 0, b, h, box.q_lo, box.q_hi, box.kv_lo, box.kv_hi);
      if (tile_class == kTileFull && is_cut) tile_class = kTilePartial;
      if constexpr (!Classes::kHasScoreClass) return tile_class;
      const bool plain = Classes::score_is_plain(params.call, b, h, box.q_lo, box.q_hi, box.kv_lo, box.kv_hi);
      return tile_class != kTileEmpty && plain ? tile_class | kTilePlain : tile_class;
    }
  }
};

}  // namespace fa
