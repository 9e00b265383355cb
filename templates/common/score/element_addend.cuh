// Scores that begin with a factor times a table's tile of 16 bits (common/score/staged_reads.cuh). Matrix loads bring a
// block's elements to the lanes that hold its scores, as they bring fragments of Q: eight loads serve the 64 scores that
// a lane has of 32 rows and 64 columns, for which reads of pairs would take 32.
#pragma once

#include "common/math.cuh"
#include "common/placement.cuh"
#include "common/products.cuh"
#include "common/score/staged_reads.cuh"

namespace fa {

template <class Reads, class Type>
struct ElementAddend {
  /// s[m][n] = factor * block (m, n). `tile` is the table's tile in shared memory; the blocks begin at its row
  /// `row`, the first of this warp.
  template <int kM, int kN>
  static __device__ __forceinline__ void begin(float (&s)[kM][kN][4], const unsigned char* tile, int row,
                                               float factor) {
    const int lane = lane_of_warp();
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int n = 0; n < kN; n += 2) {
        unsigned pairs[4];  // of rows 0-7 and 8-15 of block n, then of block n + 1
        ldmatrix_x4(pairs, from + Reads::place(row + 16 * m + lane % 16, 8 * (n + lane / 16)));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float* const scores = s[m][n + i / 2] + 2 * (i % 2);
          scores[0] = factor * widened(Type{}, static_cast<unsigned short>(pairs[i]));
          scores[1] = factor * widened(Type{}, static_cast<unsigned short>(pairs[i] >> 16));
        }
      }
  }
};

}  // namespace fa
