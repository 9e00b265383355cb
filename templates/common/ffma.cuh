// Products of f32 by FFMA, on any GPU: what sm_75 has, whose tensor cores know no type that f32 could be
// split into. A product and its addition are one rounding, to nearest.
//
// A thread computes the scores that an mma would give it (common/products.cuh): rows g and g + 8 of each 16,
// columns 2q and 2q + 1 of each 8. It reads four columns of a row at a time: 16 bytes serve four FFMAs for
// each row or column they meet, and lanes that want the same row share one read. For P V each probability
// lies in one lane of its quad and goes to the other three by a shuffle; V's eight columns of a page are two
// reads a key.
#pragma once

#include "common/products.cuh"
#include "common/tile.cuh"

namespace fa {

template <>
struct Products<Ffma> {
  static constexpr int kDepth = 8;
  static constexpr int kColumnTiles = 4;
  static constexpr int kQWords = 16;  // eight columns of row g, then of row g + 8
  static constexpr int kPWords = 16;  // eight keys of row g, then of row g + 8
  static constexpr int kUnrolledSteps = 4;
  static constexpr bool kStagesOutput = false;
  static constexpr bool kLosesInfinities = false;

  /// Row g, chunk 0.
  static __device__ __forceinline__ unsigned lane_offset_q(int lane) {
    const int row = lane / 4;
    return row * 128 + (row << 4);
  }
  /// Row 2q, chunk 0; row 2q + 1 lies a row further, at the swizzle's other bit.
  static __device__ __forceinline__ unsigned lane_offset_k(int lane) {
    const int row = lane % 4 * 2;
    return row * 128 + (row << 4);
  }
  /// Key 0, chunk 2q; key e lies e rows further, with e in the swizzle.
  static __device__ __forceinline__ unsigned lane_offset_v(int lane) { return lane % 4 * 2 << 4; }

  template <class QTile>
  static __device__ __forceinline__ void load_q(unsigned (&q)[kQWords], unsigned q_lane, int m, int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      load_floats(q, 4 * i, QTile::at(q_lane ^ (i % 2 * 16), m * 16 + i / 2 * 8, step));
  }

  template <class KTile, int kM, int kN>
  static __device__ __forceinline__ void multiply_qk(float (&s)[kM][kN][4], int n,
                                                     const unsigned (&q)[kM][kQWords], unsigned k_lane,
                                                     int step) {
#pragma unroll
    for (int half = 0; half < 2; ++half)  // of the step's columns
#pragma unroll
      for (int column = 0; column < 4;
           ++column) {  // of the two tiles: 2q, 2q + 1 of the first, then of the second
        unsigned k[4];
        load_shared_16(
            k, KTile::at(k_lane ^ ((half ^ column % 2) * 16), n * 8 + column / 2 * 8 + column % 2, step));
#pragma unroll
        for (int m = 0; m < kM; ++m)
#pragma unroll
          for (int row = 0; row < 2; ++row)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              float& sum = s[m][n + column / 2][2 * row + column % 2];
              sum = fmaf(__uint_as_float(q[m][8 * row + 4 * half + i]), __uint_as_float(k[i]), sum);
            }
      }
  }

  /// Gathers the probabilities of one row half from the four lanes that computed them.
  static __device__ __forceinline__ void place(unsigned (&p)[kPWords], int, int half, float lo, float hi) {
#pragma unroll
    for (int key = 0; key < 8; ++key)
      p[8 * half + key] = __float_as_uint(__shfl_sync(0xffffffffu, key % 2 == 0 ? lo : hi, key / 2, 4));
  }

  /// Where a lane begins to read a tile whose rows are keys: at column g of key 0. Key e is e rows below, and its swizzle
  /// bits are e.
  static __device__ __forceinline__ unsigned lane_offset_transposed(int lane) {
    return (lane / 16 << 4) + lane / 4 % 4 * 4;
  }
  /// The fragment of the transposed tile's 16 rows that are its columns from 8 `column_tile` on, which is even.
  template <class XTile>
  static __device__ __forceinline__ void load_transposed(unsigned (&p)[kPWords], unsigned x_lane, int step,
                                                         int column_tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int key = 0; key < 8; ++key)
        p[8 * half + key] =
            load_shared_4(XTile::at(x_lane ^ (key << 4), step * kDepth + key, column_tile + half));
  }

  template <class VTile, int kM, int kD>
  static __device__ __forceinline__ void multiply_pv(float (&o)[kM][kD][4], int d,
                                                     const unsigned (&p)[kM][kPWords], unsigned v_lane,
                                                     int step) {
#pragma unroll
    for (int key = 0; key < 8; ++key)
#pragma unroll
      for (int side = 0; side < 2; ++side) {  // of the thread's eight columns
        unsigned v[4];
        load_shared_16(v, VTile::at(v_lane ^ ((key ^ side) << 4), step * kDepth + key, d));
#pragma unroll
        for (int m = 0; m < kM; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              float& sum = o[m][d + j][2 * half + side];
              sum = fmaf(__uint_as_float(p[m][8 * half + key]), __uint_as_float(v[j]), sum);
            }
      }
  }

 private:
  static __device__ __forceinline__ void load_floats(unsigned (&q)[kQWords], int first, unsigned smem) {
    unsigned words[4];
    load_shared_16(words, smem);
#pragma unroll
    for (int i = 0; i < 4; ++i) q[first + i] = words[i];
  }
};

}  // namespace fa
