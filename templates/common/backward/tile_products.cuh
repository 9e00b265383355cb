// The products of the backward pass: of two tiles in shared memory, and of a left operand in registers with one.
#pragma once

#include "common/placement.cuh"
#include "common/products.cuh"
#include "common/tile.cuh"

namespace fa {

/// s = A B^T over all columns: 16 kM rows of A, which begin at `a`, and 8 kN rows of B, from `b` on. Both begin
/// at a multiple of 8 rows of their tiles.
template <class ATile, class BTile, int kM, int kN>
__device__ __forceinline__ void multiply_rows(float (&s)[kM][kN][4], unsigned a, unsigned b) {
  using Product = Products<typename ATile::Element>;
  const int lane = lane_of_warp();
  const unsigned a_lane = a + Product::lane_offset_q(lane);
  const unsigned b_lane = b + Product::lane_offset_k(lane);
  // Wide rows, and two fragments of rows, a few steps at a time: ptxas would start the loads of all, and has no registers
  // for them.
  constexpr int kMost = ATile::kSteps > 4 || kM > 1 ? 2 : 4;
  constexpr int kAtOnce = Product::kUnrolledSteps < kMost ? Product::kUnrolledSteps : kMost;
  const auto multiply = [&](int first) {
    // A few steps from there on differ in swizzle bits alone.
    const unsigned a_first = ATile::at(a_lane, 0, first), b_first = BTile::at(b_lane, 0, first);
#pragma unroll
    for (int step = 0; step < kAtOnce; ++step) {
      if (ATile::kSteps % kAtOnce != 0 && first + step >= ATile::kSteps) break;
      unsigned rows[kM][Product::kQWords];
#pragma unroll
      for (int m = 0; m < kM; ++m) Product::template load_q<ATile>(rows[m], a_first, m, step);
#pragma unroll
      for (int n = 0; n < kN; n += 2) Product::template multiply_qk<BTile>(s, n, rows, b_first, step);
    }
  };
  // The first steps add to zeros that take no instructions.
  clear(s);
  multiply(0);
#pragma unroll 1
  for (int first = kAtOnce; first < ATile::kSteps; first += kAtOnce) multiply(first);
}

/// sums += X B: X is in registers as products left it, its columns are the 8 kN rows of B from `b` on.
template <class BTile, int kM, int kN, int kD>
__device__ __forceinline__ void add_product(float (&sums)[kM][kD][4], const float (&x)[kM][kN][4],
                                            unsigned b) {
  using Product = Products<typename BTile::Element>;
  const unsigned b_lane = b + Product::lane_offset_v(lane_of_warp());
  constexpr int kTilesOfStep = Product::kDepth / 8;
#pragma unroll
  for (int step = 0; step < 8 * kN / Product::kDepth; ++step) {
    unsigned words[kM][Product::kPWords];
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 2 * kTilesOfStep; ++i) {
        const int half = i % 2, n = kTilesOfStep * step + i / 2;
        Product::place(words[m], i / 2, half, x[m][n][2 * half], x[m][n][2 * half + 1]);
      }
#pragma unroll
    for (int d = 0; d < kD; d += Product::kColumnTiles)
      Product::template multiply_pv<BTile>(sums, d, words, b_lane, step);
  }
}

/// The address by which this lane reads, of a tile in shared memory, kPairs pairs of 8-column tiles that begin at pair
/// `first`, which is a multiple of kPairs.
template <class Tile, int kPairs>
struct ColumnPairs {
  // Whether `first` leaves the swizzle bits of the pairs behind it alone: it is then part of the address.
  static constexpr bool kIsAligned = kPairs % 4 == 0 || 4 % kPairs == 0;
  unsigned lane;
  int first;

  __device__ __forceinline__ ColumnPairs(unsigned lane_, int first_)
      : lane(kIsAligned ? (lane_ ^ ((first_ % 4) * 32)) + (first_ / 4) * Tile::kPageBytes : lane_),
        first(kIsAligned ? 0 : first_) {}

  __device__ __forceinline__ unsigned at(int row, int pair) const {
    return Tile::at(lane, row, (kIsAligned ? 0 : first) + pair);
  }
};

/// sums += X B: rows of X lie in shared memory from `x` on, B's columns from its 8-column tile `first` on. In 16 bits.
template <class XTile, class BTile, int kM, int kD>
__device__ __forceinline__ void add_product_of_tiles(float (&sums)[kM][kD][4], unsigned x, unsigned b,
                                                     int first) {
  using Element = typename BTile::Element;
  const int lane = lane_of_warp();
  const unsigned x_lane = x + lane_offset_a(lane);
  const ColumnPairs<BTile, kD / 2> columns(b + lane_offset_a(lane), first / 2);
#pragma unroll
  for (int step = 0; step < XTile::kSteps; ++step) {
    unsigned rows[kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m) ldmatrix_x4(rows[m], XTile::at(x_lane, m * 16, step));
#pragma unroll
    for (int d = 0; d < kD; d += 2) {
      unsigned pair[4];
      ldmatrix_x4_trans(pair, columns.at(step * 16, d / 2));
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16<Element>(sums[m][d], rows[m], pair[0], pair[1]);
        mma_m16n8k16<Element>(sums[m][d + 1], rows[m], pair[2], pair[3]);
      }
    }
  }
}

/// 8-column tiles of sums that have a tile's columns.
template <class Tile>
constexpr int kColumnTilesOf =
    (Tile::kDim + 8 * Products<typename Tile::Element>::kColumnTiles - 1) /
    (8 * Products<typename Tile::Element>::kColumnTiles) * Products<typename Tile::Element>::kColumnTiles;

}  // namespace fa
