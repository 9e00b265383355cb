// The least and the greatest value of a summary over parts of tiles, and over the tiles, found by warps. Both are
// kept as the least: the greatest by its complement, which is the least complement.
#pragma once

#include "common/placement.cuh"

namespace fa {

constexpr int kNoValue = 0x7fffffff;  // of a part without lines: no value is greater

/// A warp: adds a value a lane, of the lines that exist, to the extrema of their part and tile. Returns the
/// lanes whose value is another than that of the lane before. Even lanes find the least values, odd lanes
/// the complements of the greatest, which are the least, too.
template <int kPart, int kPadded>
__device__ __forceinline__ unsigned add_to_part(int2& pair, int2& tile, int value, bool exists) {
  static_assert(kPart >= 2, "the lanes of a part find two extrema");
  constexpr int kPartWidth = kPart < 32 ? kPart : 32;  // lanes that share a part
  constexpr int kTileWidth = kPadded < 32 ? kPadded : 32;
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = lane_of_warp();
  const bool is_odd = lane % 2 != 0;
  const int before = __shfl_up_sync(kAll, value, 1);
  const int complement = exists ? ~value : kNoValue;
  const int given = exists ? value : kNoValue;
  int least = min(is_odd ? complement : given, __shfl_xor_sync(kAll, is_odd ? given : complement, 1));
#pragma unroll
  for (int distance = 2; distance < kPartWidth; distance *= 2)
    least = min(least, __shfl_xor_sync(kAll, least, distance));
  if (lane % kPartWidth < 2) {
    int* const to = is_odd ? &pair.y : &pair.x;
    if constexpr (kPart <= 32)
      *to = least;  // no other warp has lines of this part
    else
      atomicMin(to, least);
  }
#pragma unroll
  for (int distance = kPartWidth; distance < kTileWidth; distance *= 2)
    least = min(least, __shfl_xor_sync(kAll, least, distance));
  if (lane % kTileWidth < 2) atomicMin(is_odd ? &tile.y : &tile.x, least);
  return __ballot_sync(kAll, lane == 0 || value != before);
}

}  // namespace fa
