// The kv tiles a CTA visits, in order: all of them, or those the mask's tile class leaves.
//
// Classes are found as the walk goes, 32 at a time, one lane each; every warp of the CTA finds the same ones,
// so that no barrier is needed. A first look at groups of 32 tiles skips empty stretches 1024 tiles at a
// time.
#pragma once

#include "params.h"

namespace fa {

enum TileClass { kTileEmpty = 0, kTilePartial = 1, kTileFull = 2 };

/// The next tile of a walk; `index` < 0 where there is none.
struct WalkStep {
  int index;
  bool full;  // the mask keeps every element
};

/// A walk over every tile, for hooks without a tile class.
struct FullWalk {
  int num_tiles;
  int next_tile = 0;

  __device__ __forceinline__ WalkStep next() {
    if (next_tile >= num_tiles) return {-1, false};
    return {next_tile++, false};  // whether a mask drops something is not known
  }
};

/// A walk that asks `Hooks::tile_class`. kTileKv keys a tile.
template <class Hooks, int kTileKv>
struct ClassWalk {
  const ForwardParams& params;
  typename Hooks::Head head;
  int q_lo;
  int q_hi;
  int num_tiles;
  int next_group = 0;   // the first group not looked at yet
  int first_tile = 0;   // of the group being visited
  unsigned groups = 0;  // non-empty groups before next_group, still to visit
  unsigned tiles = 0;   // non-empty tiles of the group being visited, still to visit
  unsigned full_tiles = 0;

  /// The class of `count` tiles from `first` on; empty past the end.
  __device__ __forceinline__ int classify(int first, int count, bool group) const {
    if (first >= num_tiles) return kTileEmpty;
    const int kv_lo = first * kTileKv;
    const int kv_hi = min(kv_lo + count * kTileKv, params.kv_len) - 1;
    return Hooks::tile_class(params, head, q_lo, q_hi, kv_lo, kv_hi, group);
  }

  __device__ __forceinline__ WalkStep next() {
    const int lane = threadIdx.x % 32;
    while (tiles == 0) {
      while (groups == 0) {
        if (next_group * 32 >= num_tiles) return {-1, false};
        groups = __ballot_sync(0xffffffffu, classify((next_group + lane) * 32, 32, true) != kTileEmpty);
        next_group += 32;
      }
      first_tile = (next_group - 32 + __ffs(groups) - 1) * 32;
      groups &= groups - 1;
      const int tile_class = classify(first_tile + lane, 1, false);
      tiles = __ballot_sync(0xffffffffu, tile_class != kTileEmpty);
      full_tiles = __ballot_sync(0xffffffffu, tile_class == kTileFull);
    }
    const int bit = __ffs(tiles) - 1;
    tiles &= tiles - 1;
    return {first_tile + bit, (full_tiles >> bit & 1) != 0};
  }
};

/// Which of the two `Hooks` asks for.
template <class Hooks, int kTileKv, bool kHasTileClass = Hooks::kHasTileClass>
struct WalkOf {
  using Type = FullWalk;
};
template <class Hooks, int kTileKv>
struct WalkOf<Hooks, kTileKv, true> {
  using Type = ClassWalk<Hooks, kTileKv>;
};

}  // namespace fa
