// Scores that begin with a factor times a table's tile (common/score/staged_reads.cuh), by tensor cores: a block of
// 16 x 8 elements times a diagonal matrix. Unpacked and multiplied one by one, elements would take more
// instructions than the softmax does.
//
// The factor is f32, the table has 16 bits: the diagonal is `hi`, the factor rounded to the table's type, and
// a second product, of depth 8 like the first, adds `lo`, the rest of the factor, rounded. What is left out is at
// most 2^-18 of the factor in bf16, and 2^-22 in f16, of whose factors the compiler lets through those that f16
// holds so well (compiler/emit/cuda/hooks.cpp).
//
// An element that is not finite times the zeros beside the diagonal is NaN, in its row of the block. Callers
// find such scores and begin again, element by element.
#pragma once

#include "common/math.cuh"
#include "common/placement.cuh"
#include "common/products.cuh"
#include "common/score/staged_reads.cuh"

namespace fa {

__device__ __forceinline__ float widened(Bf16, unsigned short x) { return bf16_to_float(x); }
__device__ __forceinline__ float widened(F16, unsigned short x) { return f16_to_float(x); }

template <class Reads, class Type>
struct ElementProduct {
  /// s[m][n] = factor * block (m, n). `tile` is the table's tile in shared memory; the blocks begin at its row
  /// `row`, the first of this warp.
  template <bool kFirst, int kM, int kN>
  static __device__ __forceinline__ void by_product(float (&s)[kM][kN][4], const unsigned char* tile, int row,
                                                    float factor) {
    const int lane = lane_of_warp();
    const unsigned hi = pack<Type>(factor, 0.0f);
    const unsigned lo = pack<Type>(factor - widened(Type{}, static_cast<unsigned short>(hi)), 0.0f);
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    const unsigned diagonal_hi = diagonal(lane, hi), diagonal_lo = diagonal(lane, lo);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int n = 0; n < kN; n += 2) {
        unsigned elements[4];  // rows 0-7 and 8-15 of block n, then of block n + 1
        ldmatrix_x4(elements, from + Reads::place(row + 16 * m + lane % 16, 8 * (n + lane / 16)));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float(&scores)[4] = s[m][n + i];
          if constexpr (kFirst)
            for (float& score : scores) score = 0.0f;
          mma_m16n8k8<Type>(scores, elements[2 * i], elements[2 * i + 1], diagonal_hi);
          mma_m16n8k8<Type>(scores, elements[2 * i], elements[2 * i + 1], diagonal_lo);
        }
      }
  }

  /// The same of blocks n and n + 1 without products.
  template <int kM>
  static __device__ __forceinline__ void one_by_one(float (&s)[kM][2][4], const unsigned char* tile, int row,
                                                    int n, float factor) {
    const int lane = lane_of_warp();
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int block = 0; block < 2; ++block)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto two =
              Reads::pair(tile, row + 16 * m + 8 * half + lane / 4, 8 * (n + block) + 2 * (lane % 4));
#pragma unroll
          for (int i = 0; i < 2; ++i) s[m][block][2 * half + i] = widened(Type{}, two.values[i]) * factor;
        }
  }

 private:
  /// This lane's two rows of a column of an 8 x 8 matrix with `value` on its diagonal.
  static __device__ __forceinline__ unsigned diagonal(int lane, unsigned value) {
    const int column = lane / 4;
    return column / 2 == lane % 4 ? value << (column % 2 * 16) : 0;
  }
};

}  // namespace fa
