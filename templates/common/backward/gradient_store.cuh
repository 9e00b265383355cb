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

/// The same as stage_rows below, for 32-bit scores, which are stored as they are.
template <class Tile, int kM, int kN>
__device__ __forceinline__ void stage_scores_f32(unsigned char* room, const float (&s)[kM][kN][4],
                                                 WarpPart part) {
  static_assert(kN % 4 == 0 || 4 % kN == 0, "a lane reaches all tiles of a page by its swizzle bits");
  const int lane = lane_of_warp();
  const int place = part.column_tile / 4 * Tile::kPageBytes + (part.row + lane / 4) * 128 +
                    ((part.column_tile % 4 * 2 + lane % 4 / 2) ^ (lane / 4)) * 16 + lane % 2 * 8;
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    unsigned char* const to = room + (place ^ n % 4 * 32) + n / 4 * Tile::kPageBytes;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(to + (16 * m + 8 * half) * 128) =
            make_float2(s[m][n][2 * half], s[m][n][2 * half + 1]);
  }
}

/// Writes a warp's accumulators, times a factor, to their place of a `Tile` in shared memory, which begins at a multiple of
/// 1024 bytes. `part.row` is a multiple of 16.
template <class Tile, int kM, int kD>
__device__ __forceinline__ void stage_rows(unsigned char* room, const float (&acc)[kM][kD][4], float factor,
                                           WarpPart part) {
  using Element = typename Tile::Element;
  static_assert(Element::kBytes == 2);
  // Whether a page's tiles are reached from the first one's place by its swizzle bits and an immediate: the part begins at
  // a page, or its tiles are bits that the first has not.
  constexpr bool kIsAligned = kD % 8 == 0 || 8 % kD == 0;
  // Four matrices of 8 x 8 at once: both halves of 16 rows, and two tiles side by side.
  constexpr bool kByMatrices = kStoresMatrices && kD % 2 == 0;
  const int lane = lane_of_warp();
  // All rows of a lane, a multiple of 8 apart, have one swizzle.
  const int swizzle = kByMatrices ? lane % 8 : lane / 4;
  const int row = part.row + (kByMatrices ? lane % 16 : lane / 4);
  const int tile_of_lane = (kIsAligned ? part.column_tile % 8 : 0) ^ (kByMatrices ? lane / 16 : 0);
  const int place = (kIsAligned ? part.column_tile / 8 * Tile::kPageBytes : 0) + row * 128 +
                    (kByMatrices ? 0 : (lane % 4) * 4) + (tile_of_lane ^ swizzle) * 16;
  [[maybe_unused]] const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(room));
#pragma unroll
  for (int d = 0; d < kD; d += kByMatrices ? 2 : 1) {
    const int tile = kIsAligned ? d : part.column_tile + d;
    const int to = (place ^ tile % 8 * 16) + tile / 8 * Tile::kPageBytes;
    const auto words = [&](int m, int d_, int half) {
      return pack<Element>(acc[m][d_][2 * half] * factor, acc[m][d_][2 * half + 1] * factor);
    };
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      if constexpr (kByMatrices) {
        const unsigned of_lane[4] = {words(m, d, 0), words(m, d, 1), words(m, d + 1, 0), words(m, d + 1, 1)};
        store_matrices(smem + to + 16 * m * 128, of_lane);
      } else {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<unsigned*>(room + to + (16 * m + 8 * half) * 128) = words(m, d, half);
      }
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
