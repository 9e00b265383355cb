// The two products of a tile, by steps: what a fragment is and how it is multiplied. Products<Element> below
// serves 16-bit elements on tensor cores, with ldmatrix, pack and mma_m16n8k16 of the architecture's mma.cuh,
// which comes first. f32 has Products<Ffma> (common/ffma.cuh) and Products<Tf32x3> (sm80/tf32x3.cuh), with
// the same names.
//
// Whatever multiplies, a thread holds the same scores: with g = lane / 4 and q = lane % 4, of each 8-column
// tile of S
//   s[0], s[1] = (row g, columns 2q, 2q + 1)   s[2], s[3] = (row g + 8, the same columns)
// so hooks, softmax and dropout are written once. Of O a thread holds the same rows; its columns are
//   16 bits  o[d][i]  as in S, of columns 8 d..
//   f32      o[4 p + j][i]  column 32 p + 8 q + 4 (i % 2) + j: its eight columns of a page lie side by side
#pragma once

#include "common/tile.cuh"

namespace fa {

template <int kM, int kN>
__device__ __forceinline__ void clear(float (&sums)[kM][kN][4]) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[m][n][i] = 0.0f;
}

template <class Element>
struct Products {
  static constexpr int kDepth = 16;          // columns of Q K^T and keys of P V that a step multiplies
  static constexpr int kColumnTiles = 2;     // 8-column tiles of O that one call of multiply_pv serves
  static constexpr int kQWords = 4;          // words of a 16-row Q fragment of a step
  static constexpr int kPWords = 4;          // and of probabilities
  static constexpr int kUnrolledSteps = 16;  // of Q K^T: all there are
  static constexpr bool kStagesOutput =
      true;  // a thread's columns of O are scattered: they leave through shared memory
  // Whether an infinity in Q or K may come out as NaN; `multiply_again` then makes a few scores once more, without loss.
  static constexpr bool kLosesInfinities = false;

  static __device__ __forceinline__ unsigned lane_offset_q(int lane) { return lane_offset_a(lane); }
  static __device__ __forceinline__ unsigned lane_offset_k(int lane) { return lane_offset_b(lane); }
  static __device__ __forceinline__ unsigned lane_offset_v(int lane) { return lane_offset_a(lane); }

  /// The fragment of rows 16 m.. and of step `step`'s columns.
  template <class QTile>
  static __device__ __forceinline__ void load_q(unsigned (&q)[kQWords], unsigned q_lane, int m, int step) {
    ldmatrix_x4(q, QTile::at(q_lane, m * 16, step));
  }

  /// s[.][n], s[.][n + 1] += q K^T over one step's columns.
  template <class KTile, int kM, int kN>
  static __device__ __forceinline__ void multiply_qk(float (&s)[kM][kN][4], int n,
                                                     const unsigned (&q)[kM][kQWords], unsigned k_lane,
                                                     int step) {
    unsigned k[4];
    ldmatrix_x4(k, KTile::at(k_lane, n * 8, step));
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      mma_m16n8k16<Element>(s[m][n], q[m], k[0], k[1]);
      mma_m16n8k16<Element>(s[m][n + 1], q[m], k[2], k[3]);
    }
  }

  /// Puts the probabilities of row half `half` and columns 2q, 2q + 1 of a step's 8-column tile `tile` into
  /// an A fragment.
  static __device__ __forceinline__ void place(unsigned (&p)[kPWords], int tile, int half, float lo,
                                               float hi) {
    p[2 * tile + half] = pack<Element>(lo, hi);
  }

  /// o[.][d].. += p V over one step's keys, kColumnTiles tiles of columns.
  template <class VTile, int kM, int kD>
  static __device__ __forceinline__ void multiply_pv(float (&o)[kM][kD][4], int d,
                                                     const unsigned (&p)[kM][kPWords], unsigned v_lane,
                                                     int step) {
    unsigned v[4];
    ldmatrix_x4_trans(v, VTile::at(v_lane, step * kDepth, d / kColumnTiles));
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      mma_m16n8k16<Element>(o[m][d], p[m], v[0], v[1]);
      mma_m16n8k16<Element>(o[m][d + 1], p[m], v[2], v[3]);
    }
  }
};

}  // namespace fa
