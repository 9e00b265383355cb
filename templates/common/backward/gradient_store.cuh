// How dQ, dK and dV leave: accumulators that products of m16n8 have added up, times a factor, as rows of a tensor.
// 16-bit rows pass through shared memory, so that they leave as whole 16-byte pieces.
#pragma once

#include "common/output_tile.cuh"
#include "common/placement.cuh"
#include "common/products.cuh"
#include "common/tile.cuh"

namespace fa {

/// Where a tile of a gradient goes: row 0 of its head, and which of its rows are there.
struct GradientRows {
  char* base;
  long long row_stride;  // in elements
  int first, length;     // the tile's first row, and how many the head has
};

template <class Element>
__device__ __forceinline__ GradientRows gradient_rows(void* tensor, const TensorStrides& strides, int b,
                                                      int h, int first, int length) {
  return {const_cast<char*>(Sequence::head_bytes<Element::kBytes>(tensor, strides, b, h)), strides.row, first,
          length};
}

/// Where a warp's accumulators belong in a tile: their first row, and their first 8-column tile, a multiple of how many
/// they have.
struct WarpPart {
  int row, column_tile;
};

/// Writes a warp's accumulators, times a factor, to their place of a `Tile` in shared memory.
template <class Tile, int kM, int kD>
__device__ __forceinline__ void stage_rows(unsigned char* room, const float (&acc)[kM][kD][4], float factor,
                                           WarpPart part) {
  using Element = typename Tile::Element;
  const int lane = lane_of_warp();
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = part.row + m * 16 + half * 8 + lane / 4;
#pragma unroll
      for (int d = 0; d < kD; ++d) {
        // Where their number divides 8, the first one's bits and d's are others.
        const int tile = 8 % kD == 0 ? part.column_tile ^ d : part.column_tile + d;
        const int chunk = (tile % 8) ^ (row & 7);
        *reinterpret_cast<unsigned*>(room + (tile / 8) * Tile::kPageBytes + row * 128 + chunk * 16 +
                                     (lane % 4) * 4) =
            pack<Element>(acc[m][d][2 * half] * factor, acc[m][d][2 * half + 1] * factor);
      }
    }
}

/// `Tile` is the gradient's in `room`, which no other warp uses any more, as far as it holds this warp's part.
template <class Tile, int kM, int kD>
__device__ __forceinline__ void store_gradient(const GradientRows& to, unsigned char* room,
                                               const float (&acc)[kM][kD][4], float factor, WarpPart part) {
  using Element = typename Tile::Element;
  if constexpr (Products<Element>::kStagesOutput) {
    stage_rows<Tile>(room, acc, factor, part);
    __syncwarp();  // a warp stores what it staged
    constexpr int kRows = 16 * kM, kChunks = kD < Tile::kDim / 8 ? kD : Tile::kDim / 8;
    for (int i = lane_of_warp(); i < kRows * kChunks; i += 32) {
      const int row = part.row + i / kChunks;
      const int chunk = part.column_tile + i % kChunks;
      if (to.first + row >= to.length) break;
      if (kD < Tile::kDim / 8 && chunk >= Tile::kDim / 8) continue;  // of the padding
      *reinterpret_cast<uint4*>(to.base + Element::kBytes * ((to.first + row) * to.row_stride) + chunk * 16) =
          *reinterpret_cast<const uint4*>(room + (chunk / 8) * Tile::kPageBytes + row * 128 +
                                          ((chunk % 8) ^ (row & 7)) * 16);
    }
  } else {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = to.first + part.row + 16 * m + 8 * half + lane_of_warp() / 4;
        if (row < to.length)
          store_row_f32<Tile::kDim>(to.base + Element::kBytes * (row * to.row_stride), acc[m], half, factor);
      }
  }
}

}  // namespace fa
