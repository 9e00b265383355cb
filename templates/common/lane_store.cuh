// Values that a whole warp shares, kept one in each lane: a register of every thread holds up to 32 words, or
// 16 addresses.
//
// The kv loop of a forward kernel has no register to spare, and what it needs once a tile (K's and V's
// addresses) would be spilled to local memory. A shuffle brings it back for less.
#pragma once

#include "common/placement.cuh"

namespace fa {

/// A value that is the same in the whole warp, as ptxas knows then (see of_lane).
__device__ __forceinline__ int of_warp(int value) {
#if __CUDA_ARCH__ >= 800
  return static_cast<int>(__reduce_or_sync(0xffffffffu, static_cast<unsigned>(value)));
#else
  return __shfl_sync(0xffffffffu, value, 0);
#endif
}

/// The value of one lane, the same `lane` in the whole warp. By a reduction where there is one: ptxas knows
/// that its result is one for the warp, and keeps what follows free of code for a warp gone apart.
__device__ __forceinline__ int of_lane(int value, int lane) {
#if __CUDA_ARCH__ >= 800
  return static_cast<int>(__reduce_or_sync(0xffffffffu, lane_of_warp() == lane ? value : 0));
#else
  return __shfl_sync(0xffffffffu, value, lane);
#endif
}

/// Where forward kernels keep what. An address at place i takes lanes 2 i and 2 i + 1, a word its lane. Algorithm 1, which keeps
/// where Q's rows begin, copies no table.
struct Kept {
  enum Place { kRowsOfK = 0, kRowsOfV = 1, kRowsOfTable = 3, kRowsOfQ = 3 };
  enum Lane { kSlope = 4, kCountFrom = 5, kTableRowsLeft = 8, kTableWholeUntil = 9, kTrust = 10 };
};

struct LaneStore {
  unsigned word = 0;  // lane 2 i: the low half of value i, lane 2 i + 1: its high half

  /// Before `seal`.
  __device__ __forceinline__ void put(int i, const void* value) {
    const int lane = lane_of_warp();
    const auto bits = reinterpret_cast<unsigned long long>(value);
    if (lane == 2 * i) word = static_cast<unsigned>(bits);
    if (lane == 2 * i + 1) word = static_cast<unsigned>(bits >> 32);
  }

  /// From here on only the word is kept. Without a shuffle that hides where it comes from, ptxas keeps the
  /// values and makes the word anew.
  __device__ __forceinline__ void seal() { word = __shfl_sync(0xffffffffu, word, lane_of_warp()); }

  /// A value of 32 bits, in lane `lane`, which no value above holds; also after `seal`.
  __device__ __forceinline__ void put_word(int lane, unsigned value) {
    if (static_cast<int>(lane_of_warp()) == lane) word = value;
  }

  /// Every lane of the warp takes part.
  __device__ __forceinline__ unsigned get_word(int lane) const {
    return __shfl_sync(0xffffffffu, word, lane);
  }

  /// Every lane of the warp takes part.
  __device__ __forceinline__ const char* get(int i) const {
    const unsigned low = __shfl_sync(0xffffffffu, word, 2 * i);
    const unsigned high = __shfl_sync(0xffffffffu, word, 2 * i + 1);
    return reinterpret_cast<const char*>(static_cast<unsigned long long>(high) << 32 | low);
  }
};

}  // namespace fa
