// Products of f32 on sm_80: 3xTF32. Each operand is split into hi, the nearest tf32, and lo = x - hi, which
// tf32 holds to 11 bits; hi hi + hi lo + lo hi leaves out lo lo and the tail of lo, about 2^-22 of each
// product.
//
// Rounding is two integer operations, which is all that finite numbers need; cvt.rna.tf32 takes two more for
// the rest. So infinities and NaN have a lo that is NaN, and a hi that may be anything: scores that come out
// NaN are computed again, from the hi that cvt.rna makes (multiply_again).
//
// Tensor cores add with truncation, so a long chain of them drifts toward zero by half a spacing a link. Each
// step's three products therefore start from zero, the small ones first, and their sum is added to the
// accumulator by an FADD, which rounds to nearest.
//
// Fragments: S's accumulators hold columns 2q, 2q + 1 where an A fragment wants k = q, q + 4. So k slot q
// stands for key 2q, slot q + 4 for key 2q + 1, in P and V alike: no shuffle, and the sum is the same. V is
// read four columns a lane (one conflict-free LDS.128 for each of two keys): lane g has columns 4g..4g + 3,
// the j-th is column g of product tile j, so O's tiles are permuted as common/products.cuh says and leave
// without passing through shared memory.
#pragma once

#include "common/tile.cuh"
#include "sm80/mma.cuh"
// after mma.cuh
#include "common/products.cuh"

namespace fa {

/// A fragment of kWords f32 as tf32 pairs.
template <int kWords>
struct Tf32Pair {
  unsigned hi[kWords];
  unsigned lo[kWords];

  __device__ __forceinline__ void set(int i, unsigned bits) {
    hi[i] = (bits + 0x1000u) & 0xffffe000u;
    lo[i] = __float_as_uint(__uint_as_float(bits) - __uint_as_float(hi[i]));
  }
};

/// c += a b.
__device__ __forceinline__ void multiply_3xtf32(float (&c)[4], const Tf32Pair<4>& a, const Tf32Pair<2>& b) {
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  mma_m16n8k8_tf32(sum, a.lo, b.hi, sum);
  mma_m16n8k8_tf32(sum, a.hi, b.lo, sum);
  mma_m16n8k8_tf32(sum, a.hi, b.hi, sum);
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] += sum[i];
}

template <>
struct Products<Tf32x3> {
  static constexpr int kDepth = 8;
  static constexpr int kColumnTiles = 4;
  static constexpr int kQWords = 4;
  static constexpr int kPWords = 4;
  static constexpr int kUnrolledSteps = 1;
  static constexpr bool kStagesOutput = false;
  static constexpr bool kLosesInfinities = true;

  static __device__ __forceinline__ unsigned lane_offset_q(int lane) { return lane_offset_a(lane); }
  static __device__ __forceinline__ unsigned lane_offset_k(int lane) { return lane_offset_b(lane); }
  /// Key 2q, chunk g; key 2q + 1 lies a row further, at the swizzle's other bit.
  static __device__ __forceinline__ unsigned lane_offset_v(int lane) {
    const int row = lane % 4 * 2;
    return row * 128 + ((lane / 4 ^ row) << 4);
  }

  template <class QTile>
  static __device__ __forceinline__ void load_q(unsigned (&q)[kQWords], unsigned q_lane, int m, int step) {
    ldmatrix_x4(q, QTile::at(q_lane, m * 16, step));
  }

  template <class KTile, int kM, int kN>
  static __device__ __forceinline__ void multiply_qk(float (&s)[kM][kN][4], int n,
                                                     const unsigned (&q)[kM][kQWords], unsigned k_lane,
                                                     int step) {
    unsigned k[4];
    ldmatrix_x4(k, KTile::at(k_lane, n * 8, step));
    Tf32Pair<2> b[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) b[i / 2].set(i % 2, k[i]);
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      const Tf32Pair<4> a = split(q[m]);
      multiply_3xtf32(s[m][n], a, b[0]);
      multiply_3xtf32(s[m][n + 1], a, b[1]);
    }
  }

  /// s[.][0], s[.][1] += q K^T over one step's columns of tiles n and n + 1, to tf32's precision, with the
  /// infinities and NaN that f32 would have.
  template <class KTile, int kM>
  static __device__ __forceinline__ void multiply_again(float (&s)[kM][2][4], int n,
                                                        const unsigned (&q)[kM][kQWords], unsigned k_lane,
                                                        int step) {
    unsigned k[4];
    ldmatrix_x4(k, KTile::at(k_lane, n * 8, step));
#pragma unroll
    for (int i = 0; i < 4; ++i) k[i] = to_tf32(__uint_as_float(k[i]));
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      unsigned a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = to_tf32(__uint_as_float(q[m][i]));
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const unsigned b[2] = {k[2 * side], k[2 * side + 1]};
        mma_m16n8k8_tf32(s[m][side], a, b, s[m][side]);
      }
    }
  }

  static __device__ __forceinline__ void place(unsigned (&p)[kPWords], int, int half, float lo, float hi) {
    p[half] = __float_as_uint(lo);
    p[2 + half] = __float_as_uint(hi);
  }

  /// Where a lane begins to read a tile whose rows are keys: at column g of key 2q. Key 2q + 1 is a row below, and its
  /// swizzle differs in one bit.
  static __device__ __forceinline__ unsigned lane_offset_transposed(int lane) {
    const int row = lane % 4 * 2, column = lane / 4;
    return row * 128 + ((column / 4 ^ row) << 4) + column % 4 * 4;
  }
  /// An A fragment of the transposed tile: its columns from 8 `column_tile` on are 16 rows of it. `column_tile` is even.
  template <class XTile>
  static __device__ __forceinline__ void load_transposed(unsigned (&p)[kPWords], unsigned x_lane, int step,
                                                         int column_tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      p[half] = load_shared_4(XTile::at(x_lane, step * kDepth, column_tile + half));
      p[2 + half] = load_shared_4(XTile::at(x_lane ^ 16, step * kDepth, column_tile + half) + 128);
    }
  }

  template <class VTile, int kM, int kD>
  static __device__ __forceinline__ void multiply_pv(float (&o)[kM][kD][4], int d,
                                                     const unsigned (&p)[kM][kPWords], unsigned v_lane,
                                                     int step) {
    unsigned even[4], odd[4];
    load_shared_16(even, VTile::at(v_lane, step * kDepth, d));
    load_shared_16(odd, VTile::at(v_lane ^ 16, step * kDepth, d) + 128);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      Tf32Pair<2> b;
      b.set(0, even[j]);
      b.set(1, odd[j]);
#pragma unroll
      for (int m = 0; m < kM; ++m) multiply_3xtf32(o[m][d + j], split(p[m]), b);
    }
  }

 private:
  static __device__ __forceinline__ Tf32Pair<4> split(const unsigned (&words)[4]) {
    Tf32Pair<4> pair;
#pragma unroll
    for (int i = 0; i < 4; ++i) pair.set(i, words[i]);
    return pair;
  }
};

}  // namespace fa
