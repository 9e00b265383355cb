// The tiles a CTA visits, in order: all of a side, or those the mask's tile class leaves. A side says which
// tiles these are: the kv tiles of a q tile (common/tiles/key_tiles.cuh) or the q tiles of a kv tile
// (common/tiles/query_tiles.cuh), by
//
//   using Classes = ...;                 // of the mask
//   static constexpr int kTile;          // rows or columns of a tile
//   int length(params), num_tiles(params); // of the sequence that the tiles cut; how many tiles that makes
//   int classify(params, first, count);  // the class of one tile or of 32, empty past the end
//
// Classes are found as the walk goes, 32 at a time, one lane each; every warp of the CTA finds the same ones,
// so that no barrier is needed. A first look at groups of 32 tiles skips empty stretches 1024 tiles at a
// time. Neighbours of one class are a run: inside it a step costs one addition.
#pragma once

#include "common/lane_store.cuh"
#include "common/placement.cuh"
#include "common/tiles/tile_class.cuh"
#include "params.h"

namespace fa {

/// One step of a walk, in one register: a bit where the mask keeps all of the tile and no end cuts it, a bit where score_mod adds one number to all of it, five bits for how many tiles alike follow
/// it, then the tile.
struct WalkStep {
  int code;

  static constexpr int kOneMore = 4;
  static constexpr int kOneTile = 128;
  static constexpr int kEnd = 1 << 27;  // and later: past every length; what is copied of it are zeros

  /// The step before the first, of tile -1.
  static __device__ __forceinline__ WalkStep before_first() { return {-kOneTile}; }
  /// Whether this is a tile, not the step before the first.
  __device__ __forceinline__ bool is_visited() const { return code >= 0; }
  __device__ __forceinline__ bool exists() const { return code < kEnd; }
  __device__ __forceinline__ int tile() const { return code >> 7; }
  __device__ __forceinline__ bool full() const { return (code & 1) != 0; }
  __device__ __forceinline__ bool plain() const { return (code & 2) != 0; }
  __device__ __forceinline__ bool has_more() const { return (code & (kOneTile - kOneMore)) != 0; }
  /// The next of the tiles alike.
  __device__ __forceinline__ WalkStep more() const { return {code + (kOneTile - kOneMore)}; }
};

/// A walk over every tile. It has no state but the step it is at, which costs the kv loop the fewest
/// registers.
template <class Side>
struct FullWalk {
  Side side;

  static constexpr bool kSearches = false;

  __device__ __forceinline__ WalkStep first(const ForwardParams& params) {
    return {side.length(params) > 0 ? 0 : WalkStep::kEnd};
  }

  __device__ __forceinline__ WalkStep after(const ForwardParams& params, WalkStep now) {
    const int tile = now.tile() + 1;
    // Whether anything is dropped is not known.
    return {now.code + (tile * Side::kTile < side.length(params) ? WalkStep::kOneTile : WalkStep::kEnd)};
  }
};

/// A walk by the classes of tiles. The loops of kernels have no register to spare, so what is known of 32
/// tiles and 32 groups is one word of each lane.
template <class Side>
struct ClassWalk {
  using Classes = typename Side::Classes;
  Side side;

  // Of lane i: the step to the first non-empty tile from the group's tile i on, with tiles counted from the
  // group's first; beside it the bits below.
  int lanes = 0;

  static constexpr int kSomeTile = 1 << 28;    // there is such a tile
  static constexpr int kGroup = 1 << 29;       // group i of the 32 that are known has a non-empty tile
  static constexpr int kWholeGroup = 1 << 30;  // its 32 tiles are full, and their score is plain

  static constexpr bool kSearches = true;

  __device__ __forceinline__ WalkStep first(const ForwardParams& params) { return search(params, 0); }

  __device__ __forceinline__ WalkStep after(const ForwardParams& params, WalkStep now) {
    return now.has_more() ? now.more() : search(params, now.tile() + 1);
  }

  static constexpr int kWhole = kTileFull | (Classes::kHasScoreClass ? kTilePlain : 0);

  /// The bits of `lanes` that tell of tiles, from the class of each lane's tile; the tiles `found` are not
  /// empty.
  static __device__ __forceinline__ int runs(unsigned found, int tile_class) {
    const unsigned all = 0xffffffffu;
    const unsigned full = __ballot_sync(all, (tile_class & ~kTilePlain) == kTileFull);
    const unsigned plain = Classes::kHasScoreClass ? __ballot_sync(all, (tile_class & kTilePlain) != 0) : 0;
    const int lane = lane_of_warp();
    const int start = __ffs(found & all << lane) - 1;
    if (start < 0) return 0;
    const int kind = static_cast<int>((full >> start & 1) + 2 * (plain >> start & 1));
    const unsigned others = ~found | (kind & 1 ? ~full : full) | (kind & 2 ? ~plain : plain);
    const unsigned other = others & all << start;
    const int end = other == 0 ? 32 : __ffs(other) - 1;
    return kind + start * WalkStep::kOneTile + (end - start - 1) * WalkStep::kOneMore + kSomeTile;
  }

  /// The run of all tiles of the group that begins at `tile`, each of class kWhole.
  static __device__ __forceinline__ WalkStep whole_group(int tile) {
    constexpr int kKind = Classes::kHasScoreClass ? 3 : 1;
    return {kKind + tile * WalkStep::kOneTile + (kTilesPerWord - 1) * WalkStep::kOneMore};
  }

  /// The first step at or after `tile`, the first tile not visited yet. Groups and tiles take turns on one
  /// call of `classify`: inlined once, it costs half the code.
  __device__ __forceinline__ WalkStep search(const ForwardParams& params, int tile) {
    const int lane = lane_of_warp();
    bool asked = false;  // for the groups that start at `tile`
    while (tile < side.num_tiles(params)) {
      if (tile % kTilesPerWord == 0) {
        const bool by_group = tile % (32 * kTilesPerWord) == 0 && !asked;
        if (!by_group) {
          const int group = tile / kTilesPerWord % 32;
          const unsigned groups = __ballot_sync(0xffffffffu, (lanes & kGroup) != 0) >> group;
          const unsigned whole = __ballot_sync(0xffffffffu, (lanes & kWholeGroup) != 0) >> group;
          if (groups == 0) {
            tile = (tile | (32 * kTilesPerWord - 1)) + 1;
            asked = false;
            continue;
          }
          const int empty = __ffs(groups) - 1;
          tile += empty * kTilesPerWord;
          if ((whole >> empty & 1) != 0) return whole_group(tile);  // its tiles need no look
        }
        const int tile_class =
            side.classify(params, tile + (by_group ? kTilesPerWord : 1) * lane, by_group ? kTilesPerWord : 1);
        if (by_group) {
          lanes = (tile_class != kTileEmpty ? kGroup : 0) | (tile_class == kWhole ? kWholeGroup : 0);
          asked = true;
          continue;
        }
        const unsigned found = __ballot_sync(0xffffffffu, tile_class != kTileEmpty);
        if (found == 0) {  // a group that only its tiles tell to be empty: masks that jump have many
          tile += kTilesPerWord;
          asked = false;
          continue;
        }
        lanes = (lanes & (kGroup | kWholeGroup)) | runs(found, tile_class);
      }
      const int step = of_lane(lanes, tile % 32);
      if ((step & kSomeTile) != 0)
        return {(step & (kSomeTile - 1)) + tile / kTilesPerWord * kTilesPerWord * WalkStep::kOneTile};
      tile = (tile | (kTilesPerWord - 1)) + 1;
      asked = false;
    }
    return {WalkStep::kEnd};
  }
};

/// Which of the two a kernel walks.
template <class Side, bool kHasClasses = Side::Classes::kHasTileClass || Side::Classes::kHasScoreClass>
struct WalkOf {
  using Type = FullWalk<Side>;
};
template <class Side>
struct WalkOf<Side, true> {
  using Type = ClassWalk<Side>;
};

}  // namespace fa
