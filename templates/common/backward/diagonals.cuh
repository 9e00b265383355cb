// Sums by distance, q_idx - kv_idx: what a warp's elements of a tile give to each diagonal, added up in registers
// and by shuffles, always in the same order.
//
// A warp has its part of the tile in blocks of 8 x 8: block (line, n) is the `line`th down and the `n`th across. In a
// block a thread has two elements, in row g = lane / 4 and in columns 2 (lane % 4) + pair, where pair is 0 or 1. Their
// diagonal is column - row = 8 (n - line) + 2 (lane % 4) + pair - g.
//
// Blocks with the same n - line share 8 diagonals, so a thread adds their elements to the same registers. Three
// shuffles then add up each diagonal: in each, a lane passes its sum to a lane further up on the same diagonal. A
// sum that would leave the block at the top belongs to the next 8 diagonals; it is kept for them.
#pragma once

#include "common/placement.cuh"

namespace fa {

/// `kLines`: groups of 8 rows. Rows are keys, columns are query rows.
template <int kLines>
struct DiagonalSums {
  static constexpr int kFirst = 1 - 8 * kLines;  // the diagonal of a warp's sums that comes first
  /// Floats of a warp, for `kColumns` groups of columns.
  template <int kColumns>
  static constexpr int kFloats = 8 * (kColumns + kLines);

  float pending[kLines][2];
  float before[3];  // of the last 8 diagonals, before each step

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int line = 0; line < kLines; ++line) pending[line][0] = pending[line][1] = 0.0f;
    before[0] = before[1] = before[2] = 0.0f;
  }

  __device__ __forceinline__ void add(int line, int pair, float term) { pending[line][pair] += term; }

  /// After group `n` of the columns: 8 diagonals have all that the warp gives them. `sums`: the warp's.
  __device__ __forceinline__ void end_group(float* sums, int n) {
    float sum = pending[kLines - 1][0];
    sum += from(pending[kLines - 1][1], before[0], 1, 0);
    sum += from(sum, before[1], 2, 1);
    sum += from(sum, before[2], 4, 2);
#pragma unroll
    for (int line = kLines - 1; line > 0; --line) {
      pending[line][0] = pending[line - 1][0];
      pending[line][1] = pending[line - 1][1];
    }
    pending[0][0] = pending[0][1] = 0.0f;
    const int lane = lane_of_warp();
    if (lane % 4 == 0) sums[8 * (n - (kLines - 1)) - lane / 4 - kFirst] = sum;
  }

  /// After the last of `columns` groups.
  __device__ __forceinline__ void end_tile(float* sums, int columns) {
#pragma unroll
    for (int line = 0; line < kLines; ++line) end_group(sums, columns + line);
  }

 private:
  /// What the lane `rows` further down and `columns` further right has.
  static __device__ __forceinline__ float from(float x, float& before, int rows, int columns) {
    const int lane = lane_of_warp();
    const float given = lane / 4 < rows ? before : x;
    before = x;
    return __shfl_sync(0xffffffffu, given, (lane + 4 * rows + columns) % 32);
  }
};

/// Of an adjoint that is added up otherwise.
struct NoDiagonalSums {
  __device__ __forceinline__ void clear() {}
};

}  // namespace fa
