// What a kernel asks of a mask's tile classes: `NoClasses` for hooks without, and the contract of the
// generated `Classes`.
#pragma once

#include "common/tiles/tile_map.h"
#include "common/tiles/tile_parts.h"
#include "params.h"

namespace fa {

struct NoClasses {
  static constexpr bool kHasTileClass = false;
  static constexpr bool kHasTileMap = false;
  static constexpr bool kHasScoreClass = false;
};

// clang-format off
/// The generated struct (compiler/emit/cuda/classes.cpp):
///
///   struct Classes {
///     static constexpr bool kHasTileClass = ...;   // without, every tile is full
///     static constexpr bool kHasTileMap = ...;     // classes are in the map; without, kernels ask `tile_class`
///     static constexpr bool kHasScoreClass = ...;  // then the hooks are affine and multiply by the scale alone
///     // The class of a box, as far as bounds show it; with a map, what is alike is added to kTilePartial.
///     // pairs(which) is an int2, the extrema of a summary over the box.
///     template <class Pairs>
///     static int tile_class(const CallParams& p, Pairs pairs, int b, int h, int q_lo, int q_hi, int kv_lo,
///                           int kv_hi);
///     // Whether score_mod adds one and the same number to every score of the tile.
///     static bool score_is_plain(const CallParams& p, int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi);
///
///     // With a map only:
///     static constexpr TileMapShape kMap = ...;
///     static constexpr Alike kAlike = ...;
///     static constexpr int kMostSteps = ...;
///     static constexpr bool kHasBounds = ...;      // without, `tile_class` knows nothing
///     static constexpr int kNumQuerySummaries = ..., kNumKeySummaries = ...;  // pairs are numbered in this order
///     // The value that a side's summary `which` takes the extrema of, as an int in the same order.
///     static int query_summary(int which, const CallParams& p, int b, int h, int q_idx);
///     static int key_summary(int which, const CallParams& p, int b, int h, int kv_idx);
///     // Whether the mask keeps an element.
///     static bool keeps(const CallParams& p, int b, int h, int q_idx, int kv_idx);
///   };
// clang-format on

/// An int that is ordered as floats are; NaNs come before and after all numbers.
__device__ __forceinline__ int ordered_int(float x) {
  const int bits = __float_as_int(x);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}

__device__ __forceinline__ float ordered_float(int x) { return __int_as_float(x < 0 ? x ^ 0x7fffffff : x); }

/// Extrema that tell nothing of any summary.
struct AnyPairs {
  __device__ __forceinline__ int2 operator()(int) const { return {-0x7fffffff - 1, 0x7fffffff}; }
};

/// The class of a box whatever the summaries are: empty above a causal mask's diagonal, say. Most of it is
/// constant then, and not computed.
template <class Classes>
__device__ __forceinline__ int class_for_any_tensor(const ForwardParams& p, int b, int h,
                                                    const TileBox& box) {
  return Classes::tile_class(p.call, AnyPairs{}, b, h, box.q_lo, box.q_hi, box.kv_lo, box.kv_hi);
}
template <class Classes>
__device__ __forceinline__ bool is_empty_for_any_tensor(const ForwardParams& p, int b, int h,
                                                        const TileBox& box) {
  return class_for_any_tensor<Classes>(p, b, h, box) == kTileEmpty;
}

enum { kTilePlain = 4 };  // beside a tile's class: score_mod adds one number to all of it

/// What a word of the map says of its 32 tiles.
struct MapWord {
  unsigned some, full, plain;
};

/// By plain loads: see await_pass_before.
template <class Classes>
__device__ __forceinline__ MapWord read_map(const ForwardParams& p, int tile_q, int tile_kv, int b, int h,
                                            int q_tile, int word) {
  const int* const from = p.tile_map + map_row(Classes::kMap, p.call, tile_q, tile_kv, b, h, q_tile) +
                          word * bits_a_tile(Classes::kMap);
  MapWord found = {static_cast<unsigned>(from[0]), static_cast<unsigned>(from[1]), 0};
  if constexpr (Classes::kMap.has_plain) found.plain = static_cast<unsigned>(from[2]);
  return found;
}

}  // namespace fa
