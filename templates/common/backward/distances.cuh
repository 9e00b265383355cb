// Values of the distance, q_idx - kv_idx, for a warp's part of a tile: each found by one lane and fetched by the others that
// have an element of that distance.
//
// diagonals.cuh describes the part's blocks of 8 x 8. Block (line, n) is the `line`th down and the `n`th across. A thread has
// two elements of it, on the diagonals column - row = 8 (n - line) + 2 (lane % 4) + pair - lane / 4. Block (line + 1, n + 1) has
// the same diagonals, so that each group of columns fetches those of its first block alone.
#pragma once

#include "common/placement.cuh"

namespace fa {

/// `kLines`: groups of 8 rows; `kGroups`: of 8 columns. `kSign`: 1 where columns are rows of Q, -1 where they are keys.
template <int kLines, int kGroups, int kSign>
struct ValuesOfDistance {
  static constexpr int kFirst = 1 - 8 * kLines;  // the first diagonal
  static constexpr int kWords = (8 * (kLines + kGroups) - 1 + 31) / 32;
  float of_lane[kWords];     // diagonals kFirst + lane, + 32 ...
  float of_line[kLines][2];  // the thread's elements of the present group

  /// `distance`: of the part's first element. `of(distance)` is asked for distances outside the part, too.
  template <class Of>
  __device__ __forceinline__ void find(int distance, Of of) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      of_lane[i] = of(distance + kSign * (kFirst + 32 * i + static_cast<int>(lane_of_warp())));
#pragma unroll
    for (int line = 1; line < kLines; ++line) fetch(of_line[line], -line);
  }

  /// Before group `n` of the columns, one after the other.
  __device__ __forceinline__ void begin_group(int n) { fetch(of_line[0], n); }

  /// After it.
  __device__ __forceinline__ void end_group() {
#pragma unroll
    for (int line = kLines - 1; line > 0; --line) {
      of_line[line][0] = of_line[line - 1][0];
      of_line[line][1] = of_line[line - 1][1];
    }
  }

 private:
  /// The thread's elements of the blocks with n - line = `block`.
  __device__ __forceinline__ void fetch(float (&two)[2], int block) const {
    const int lane = lane_of_warp();
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int number = 8 * block + 2 * (lane % 4) + pair - lane / 4 - kFirst;
      float found = __shfl_sync(0xffffffffu, of_lane[0], number % 32);
#pragma unroll
      for (int i = 1; i < kWords; ++i) {
        const float other = __shfl_sync(0xffffffffu, of_lane[i], number % 32);
        if (number / 32 == i) found = other;
      }
      two[pair] = found;
    }
  }
};

/// Where no value is of the distance alone.
struct NoValuesOfDistance {};

}  // namespace fa
