// O of one q tile, as the warps of a CTA hold it: its accumulators, each row's softmax state, and how both
// leave at the end.
#pragma once

#include "common/placement.cuh"
#include "common/products.cuh"
#include "common/softmax.cuh"
#include "common/tile.cuh"
#include "params.h"

namespace fa {

/// A thread's eight columns of each page of one f32 row (common/products.cuh), 32 bytes side by side.
template <int kDim, int kD>
__device__ __forceinline__ void store_row_f32(char* out, const float (&row)[kD][4], int half, float factor) {
#pragma unroll
  for (int page = 0; page < kD / 4; ++page) {
    const int column = page * 32 + lane_of_warp() % 4 * 8;
    if ((page + 1) * 32 > kDim && column >= kDim) continue;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const auto at = [&](int j) { return row[4 * page + j][2 * half + side] * factor; };
      *reinterpret_cast<float4*>(out + (column + 4 * side) * 4) = make_float4(at(0), at(1), at(2), at(3));
    }
  }
}

/// acc_o of this thread: element o[m][d][2 * half + pair] is of row 2 m + half of those that a thread
/// holds of S; its column is the product's to say (common/products.cuh).
template <class Config, bool kKeepsQTile>
struct OutputTile {
  using Element = typename Config::Element;
  using Product = Products<Element>;
  using OTile = Tile<Element, Config::kTileQ, Config::kHeadDimV>;
  static constexpr int kRowsPerWarp = Config::kTileQ / Config::kWarps;
  using Place = WarpPlace<kRowsPerWarp, Config::kTileKv>;
  static constexpr int kMTiles = Place::kMTiles;
  static constexpr int kColumnsOfCall = Product::kColumnTiles * 8;
  static constexpr int kDTiles =  // 8-column tiles of O
      (Config::kHeadDimV + kColumnsOfCall - 1) / kColumnsOfCall * Product::kColumnTiles;

  float o[kMTiles][kDTiles][4];
  SoftmaxRow softmax[kMTiles][2];

  /// Before the first tile.
  __device__ __forceinline__ void start_rows() {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) softmax[m][half].start();
    clear(o);
  }

  /// Multiplies a row of acc_o.
  __device__ __forceinline__ void multiply_row(int m, int half, float factor) {
#pragma unroll
    for (int d = 0; d < kDTiles; ++d) {
      o[m][d][2 * half] *= factor;
      o[m][d][2 * half + 1] *= factor;
    }
  }

  /// False where a number of acc_o is not finite, in this thread, and where two are so large that their product is not.
  __device__ __forceinline__ bool is_surely_finite() const {
    float sum = 0.0f;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
      float of_rows = 0.0f;
#pragma unroll
      for (int d = 0; d < kDTiles; ++d)
#pragma unroll
        for (int i = 0; i < 4; i += 2) of_rows = fmaf(o[m][d][i], o[m][d][i + 1], of_rows);
      sum += of_rows;
    }
    return sum - sum == 0.0f;
  }

  /// One more key of that base-2 logit, without a value, for every row: after the last tile.
  __device__ __forceinline__ void add_sink(float logit) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        multiply_row(m, half, softmax[m][half].add_sink(logit, Place::leads_rows(lane_of_warp())));
  }

  /// Whether a row of O has a NaN. What is not finite in a V tile meets all of a warp's rows, so that any of
  /// them tells.
  __device__ __forceinline__ bool meets_nan() const {
    bool nan = false;
#pragma unroll
    for (int d = 0; d < kDTiles; ++d) nan |= unordered(o[0][d][0], o[0][d][1]);
    return nan;
  }

  /// By all warps that multiply: ends the copies, as `store` does else, and returns whether any of their threads says `mine`.
  static __device__ __forceinline__ bool end_copies_and_ask(bool mine) {
    await_copies<0>();
    return of_warp(any_of_multiplying_warps<Config>(mine)) != 0;
  }

  /// acc_o / l as elements of o, and lse on the way. 16-bit rows pass through shared memory, so that they
  /// leave as whole 16-byte pieces. Before, unless that has been done, it ends the copies: none is on its way into
  /// shared memory, and no warp reads there any more.
  template <bool kEndsCopies = true>
  __device__ __forceinline__ void store(const ForwardParams& params, const WorkItem& item,
                                        unsigned char* shared) {
    // Found again, so that the kv loop need not hold them.
    const auto [b, h] = item.head(params);
    const int lane = lane_of_warp();
    const int warp_row = warp_of_cta() * kRowsPerWarp;
    const int q0 = item.template q_tile<kKeepsQTile>(params, Config::kTileQ) * Config::kTileQ;
    if constexpr (kEndsCopies) {
      await_copies<0>();  // Q (where every tile was empty) or the zeros of no tile
      sync_multiplying_warps<Config>();
    }

#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = warp_row + m * 16 + half * 8 + Place::row_of_lane(lane);
        float lse;
        float inverse = softmax[m][half].template finish<!Product::kStagesOutput>(lse);
        if constexpr (Config::kDropout) inverse *= params.call.keep_scale;
        if (params.lse != nullptr && Place::leads_rows(lane) && q0 + row < item.q_len(params)) {
          const long long head = Sequence::head_number(params.call, b, h);
          params.lse[head * item.q_len(params) + q0 + row] = lse;
        }
        if constexpr (Product::kStagesOutput) {
#pragma unroll
          for (int d = 0; d < kDTiles; ++d) {
            const unsigned packed =
                pack<Element>(o[m][d][2 * half] * inverse, o[m][d][2 * half + 1] * inverse);
            const int chunk = (d % 8) ^ (row & 7);
            *reinterpret_cast<unsigned*>(shared + (d / 8) * OTile::kPageBytes + row * 128 + chunk * 16 +
                                         (lane % 4) * 4) = packed;
          }
        } else if (q0 + row < item.q_len(params)) {
          store_row_f32<Config::kHeadDimV>(
              output(params, item) + Element::kBytes * (q0 + row) * params.o_strides.row, o[m], half,
              inverse);
        }
      }
    if constexpr (Product::kStagesOutput) {
      __syncwarp();  // a warp stores the rows it staged
      char* out = output(params, item);
      constexpr int kChunks = Config::kHeadDimV / 8;
      for (int i = lane; i < kRowsPerWarp * kChunks; i += 32) {
        const int row = warp_row + i / kChunks;
        const int chunk = i % kChunks;
        if (q0 + row >= item.q_len(params)) break;
        const uint4 piece = *reinterpret_cast<const uint4*>(shared + (chunk / 8) * OTile::kPageBytes +
                                                            row * 128 + ((chunk % 8) ^ (row & 7)) * 16);
        *reinterpret_cast<uint4*>(out + 2 * (q0 + row) * params.o_strides.row + chunk * 16) = piece;
      }
    }
  }

  /// Row 0 of this CTA's head of o.
  static __device__ __forceinline__ char* output(const ForwardParams& params, const WorkItem& item) {
    const auto [b, h] = item.head(params);
    return const_cast<char*>(Sequence::head_bytes<Element::kBytes>(params.o, params.o_strides, b, h));
  }
};

}  // namespace fa
