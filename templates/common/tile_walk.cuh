// The kv tiles a CTA visits, in order: all of them, or those the mask's tile class leaves.
//
// Classes are found as the walk goes, 32 at a time, one lane each; every warp of the CTA finds the same ones,
// so that no barrier is needed. A first look at groups of 32 tiles skips empty stretches 1024 tiles at a
// time.
#pragma once

#include "common/tile_class.cuh"

namespace fa {

/// One step of a walk, in one register.
struct WalkStep {
  int code;  // 4 * tile, + 1 where the mask keeps all of it, + 2 where score_mod adds one number; or -1 at
             // the end

  __device__ __forceinline__ bool exists() const { return code >= 0; }
  __device__ __forceinline__ int tile() const { return code >> 2; }
  __device__ __forceinline__ bool full() const { return (code & 1) != 0; }
  __device__ __forceinline__ bool plain() const { return (code & 2) != 0; }
};

/// The q tile of this CTA. Launched from the last to the first: with a causal mask that is the longest first,
/// so that what runs last is short.
__device__ __forceinline__ int block_q_tile(const ForwardParams& params, int tile_q) {
  return (params.q_len + tile_q - 1) / tile_q - 1 - static_cast<int>(blockIdx.x);
}

/// The head this CTA works on.
struct BlockHead {
  int b;
  int h;
};

/// Reads it where it is asked for, each time: compilers keep blockIdx from its first use on, across the kv
/// loop, which has no register to spare.
__device__ __forceinline__ BlockHead block_head() {
  BlockHead head;
  asm volatile("mov.u32 %0, %%ctaid.z;\n\tmov.u32 %1, %%ctaid.y;" : "=r"(head.b), "=r"(head.h));
  return head;
}

/// A walk over every tile. It has no state but the step it is at, which costs the kv loop the fewest
/// registers.
template <int kTileKv>
struct FullWalk {
  __device__ __forceinline__ WalkStep first(const ForwardParams& params) {
    return {params.kv_len > 0 ? 0 : -1};
  }

  __device__ __forceinline__ WalkStep after(const ForwardParams& params, WalkStep now) {
    const int tile = now.tile() + 1;
    return {tile * kTileKv < params.kv_len ? 4 * tile : -1};  // whether a mask drops something is not known
  }
};

/// A walk that asks `Classes::tile_class`, for the rows of one q tile. What it asks with is found anew every
/// 32 tiles and kept out of the registers in between: the kv loop has none to spare.
template <class Classes, int kTileQ, int kTileKv>
struct ClassWalk {
  int next_group = 0;   // the first group not looked at yet
  int first_tile = 0;   // of the group being visited
  unsigned groups = 0;  // non-empty groups before next_group, still to visit
  unsigned tiles = 0;   // non-empty tiles of the group being visited, still to visit
  unsigned full_tiles = 0;
  unsigned plain_tiles = 0;

  __device__ __forceinline__ WalkStep first(const ForwardParams& params) { return next(params); }
  __device__ __forceinline__ WalkStep after(const ForwardParams& params, WalkStep) { return next(params); }

  static __device__ __forceinline__ int num_tiles(const ForwardParams& params) {
    return (params.kv_len + kTileKv - 1) / kTileKv;
  }

  static constexpr int kPlain = 4;  // beside a tile's class

  /// The class of `count` tiles from `first` on, one tile or a group, and kPlain; empty past the end.
  static __device__ __forceinline__ int classify(const ForwardParams& params, int first, int count) {
    const int tiles_in_all = num_tiles(params);
    if (first >= tiles_in_all) return kTileEmpty;
    const auto [b, h] = block_head();
    const SummaryRows<Classes> summaries(params, kTileQ, kTileKv, b, h);
    const int q_tile = block_q_tile(params, kTileQ);
    const int q_lo = q_tile * kTileQ;
    const int q_hi = min(q_lo + kTileQ, params.q_len) - 1;
    const int kv_lo = first * kTileKv;
    const int kv_hi = min(kv_lo + count * kTileKv, params.kv_len) - 1;
    const int kv_pair = count == 1 ? first : tiles_in_all + first / kTilesPerGroup;
    const int tile_class =
        Classes::tile_class(params, summaries.row, b, h, q_lo, q_hi, kv_lo, kv_hi, q_tile, kv_pair);
    if constexpr (!Classes::kHasScoreClass) return tile_class;
    const bool plain = Classes::score_is_plain(params, b, h, q_lo, q_hi, kv_lo, kv_hi);
    return tile_class != kTileEmpty && plain ? tile_class | kPlain : tile_class;
  }

  /// Groups and tiles take turns on one call of `classify`: inlined once, it costs half the code.
  __device__ __forceinline__ WalkStep next(const ForwardParams& params) {
    while (tiles == 0) {
      const int lane = threadIdx.x % 32;
      const bool by_group = groups == 0;
      if (by_group && next_group * kTilesPerGroup >= num_tiles(params)) return {-1};
      if (!by_group) {
        first_tile = (next_group - 32 + __ffs(groups) - 1) * kTilesPerGroup;
        groups &= groups - 1;
      }
      const int first = by_group ? (next_group + lane) * kTilesPerGroup : first_tile + lane;
      const int tile_class = classify(params, first, by_group ? kTilesPerGroup : 1);
      const unsigned found = __ballot_sync(0xffffffffu, tile_class != kTileEmpty);
      if (by_group) {
        groups = found;
        next_group += 32;
      } else {
        tiles = found;
        full_tiles = __ballot_sync(0xffffffffu, (tile_class & ~kPlain) == kTileFull);
        if constexpr (Classes::kHasScoreClass)
          plain_tiles = __ballot_sync(0xffffffffu, (tile_class & kPlain) != 0);
      }
    }
    const int bit = __ffs(tiles) - 1;
    tiles &= tiles - 1;
    return {(first_tile + bit) * 4 + static_cast<int>(full_tiles >> bit & 1) +
            2 * static_cast<int>(plain_tiles >> bit & 1)};
  }
};

/// Which of the two a kernel walks.
template <class Classes, int kTileQ, int kTileKv,
          bool kHasClasses = Classes::kHasTileClass || Classes::kHasScoreClass>
struct WalkOf {
  using Type = FullWalk<kTileKv>;
};
template <class Classes, int kTileQ, int kTileKv>
struct WalkOf<Classes, kTileQ, kTileKv, true> {
  using Type = ClassWalk<Classes, kTileQ, kTileKv>;
};

}  // namespace fa
