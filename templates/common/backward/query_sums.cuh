// dQ by sums in the call's workspace: the pass that sums dK and dV has dS of each of its tiles, multiplies it by its keys
// and adds the product to the sums by atomic additions, in whatever order CTAs come by. A last pass makes elements
// of them.
//
// The sums lie as products of m16n8 leave them, [batch * num_q_heads][16 rows][8 columns][4][lane], so that the 32
// additions of a warp's instruction are 128 bytes side by side. Where an instruction adds four numbers, a lane's four lie
// side by side: [lane][4]. The pass that finds row stats makes them zero.
#pragma once

#include "backward_params.h"
#include "common/backward/gradient_store.cuh"
#include "common/backward/head_counts.cuh"
#include "common/backward/kept_scale.cuh"
#include "common/backward/tile_products.cuh"
#include "common/dependent_launch.cuh"
#include "common/instructions.cuh"
#include "common/placement.cuh"
#include "common/tile.cuh"

namespace fa {

template <class Element, int kHeadDim>
struct QuerySums {
  static constexpr int kColumnTiles = kColumnTilesOf<Tile<Element, kRowsPadded, kHeadDim>>;
  static constexpr int kFloatsOfTile = 128;                           // of 16 x 8
  static constexpr int kFloatsOfRows = kColumnTiles * kFloatsOfTile;  // of 16 rows
  static constexpr int kLaneStep = kAddsFour ? 4 : 1;  // from a lane's first number to the next lane's
  static constexpr int kStep = kAddsFour ? 1 : 32;     // from one of a lane's four numbers to the next

  /// Those of 16 rows, the first a multiple of 16.
  static __device__ __forceinline__ float* of_rows(const BackwardParams& params, int b, int h,
                                                   int first_row) {
    const CallParams& call = params.forward.call;
    const long long row = Sequence::head_number(call, b, h) * padded_rows(call.q_len) + first_row;
    return params.d_q_sums + row / 16 * kFloatsOfRows;
  }

  /// Of kRowsPadded rows, by so many threads, of which this is one.
  static __device__ __forceinline__ void clear(const BackwardParams& params, int b, int h, int first_row,
                                               int thread, int threads) {
    auto* const sums = reinterpret_cast<float4*>(of_rows(params, b, h, first_row));
    for (int i = thread; i < kRowsPadded / 16 * kFloatsOfRows / 4; i += threads)
      sums[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
};

/// The part that a tile of dS adds. Warps share the tile's rows of Q, 16 or 32 each, and the columns of a row: keys that
/// are read once serve 32 rows, but where there are fewer columns than warps.
template <class Config>
struct QueryPart {
  using Element = typename Config::Element;
  using KTile = Tile<Element, Config::kTileKv, Config::kHeadDim>;
  using DsTile = Tile<Element, Config::kTileKv, Config::kTileQ>;  // keys down, as in registers
  using Sums = QuerySums<Element, Config::kHeadDim>;
  using Product = Products<Element>;
  static constexpr int kUnits = Sums::kColumnTiles / Product::kColumnTiles;  // of columns, that one warp sums
  static constexpr bool kHasTwo = Config::kTileQ % 32 == 0 && Config::kWarps % (Config::kTileQ / 32) == 0 &&
                                  Config::kWarps / (Config::kTileQ / 32) <= kUnits;
  static constexpr int kM = kHasTwo ? 2 : 1;
  static constexpr int kRowGroups = Config::kTileQ / (16 * kM);
  static constexpr int kGroups = Config::kWarps / kRowGroups;  // of columns
  static_assert(Config::kWarps % kRowGroups == 0);
  static constexpr int kTilesOfGroup = (kUnits + kGroups - 1) / kGroups * Product::kColumnTiles;
  // The last groups have fewer columns, or none.
  static constexpr bool kHasRest = kGroups * kTilesOfGroup > Sums::kColumnTiles;
  using Part = float[kM][kTilesOfGroup][4];

  /// `ds` and `k`: those tiles in shared memory. `head`: the sums of the head's row 0.
  static __device__ __forceinline__ void add(float* head, int q0, unsigned ds, unsigned k) {
    const int row_group = warp_of_cta() % kRowGroups;
    const int first = warp_of_cta() / kRowGroups * kTilesOfGroup;
    Part sums;
    if constexpr (Element::kBytes == 4)
      multiply_f32(sums, row_group, first, ds, k);
    else
      multiply(sums, row_group, first, ds, k);
    float* const to = head + (q0 / 16 + kM * row_group) * static_cast<long long>(Sums::kFloatsOfRows) +
                      first * Sums::kFloatsOfTile + lane_of_warp() * Sums::kLaneStep;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int d = 0; d < kTilesOfGroup; ++d) {
        if (kHasRest && first + d >= Sums::kColumnTiles) break;
        float* const tile = to + m * Sums::kFloatsOfRows + d * Sums::kFloatsOfTile;
        if constexpr (kAddsFour) {
          add_four_to_global(tile, sums[m][d]);
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i) add_to_global(tile + Sums::kStep * i, sums[m][d][i]);
        }
      }
  }

 private:
  /// `first`: of the warp's 8-column tiles.
  static __device__ __forceinline__ void multiply(Part& sums, int row_group, int first, unsigned ds,
                                                  unsigned k) {
    const int lane = lane_of_warp();
    // Read transposed, a fragment of keys by rows is one of rows by keys.
    const ColumnPairs<DsTile, kM> ds_rows(ds + lane_offset_b(lane), kM * row_group);
    const ColumnPairs<KTile, kTilesOfGroup / 2> keys(k + lane_offset_a(lane), first / 2);
    const auto multiply_step = [&](int step) {
      unsigned rows[kM][4];
#pragma unroll
      for (int m = 0; m < kM; ++m) ldmatrix_x4_trans(rows[m], ds_rows.at(step * 16, m));
#pragma unroll
      for (int d = 0; d < kTilesOfGroup; d += 2) {
        if (kHasRest && first + d >= Sums::kColumnTiles) break;
        unsigned columns[4];
        ldmatrix_x4_trans(columns, keys.at(step * 16, d / 2));
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          mma_m16n8k16<Element>(sums[m][d], rows[m], columns[0], columns[1]);
          mma_m16n8k16<Element>(sums[m][d + 1], rows[m], columns[2], columns[3]);
        }
      }
    };
    // As in multiply_rows.
    constexpr int kSteps = Config::kTileKv / 16;
    fa::clear(sums);
#pragma unroll
    for (int step = 0; step < kSteps && step < 2; ++step) multiply_step(step);
#pragma unroll
    for (int step = 2; step < kSteps; ++step) multiply_step(step);
  }

  /// The same of 32-bit elements. A warp's tiles begin at a page.
  static __device__ __forceinline__ void multiply_f32(Part& sums, int row_group, int first, unsigned ds,
                                                      unsigned k) {
    const int lane = lane_of_warp();
    constexpr int kTilesOfRows = 2 * kM;  // 8-column tiles of dS that are the warp's rows
    const int tile = kTilesOfRows * row_group;
    const unsigned ds_lane =
        ((ds + Product::lane_offset_transposed(lane)) ^ tile % 4 * 32) + tile / 4 * DsTile::kPageBytes;
    const unsigned k_lane =
        k + Product::lane_offset_v(lane) + first / Product::kColumnTiles * KTile::kPageBytes;
    fa::clear(sums);
#pragma unroll 1
    for (int step = 0; step < Config::kTileKv / Product::kDepth; ++step) {
      unsigned rows[kM][Product::kPWords];
#pragma unroll
      for (int m = 0; m < kM; ++m) Product::template load_transposed<DsTile>(rows[m], ds_lane, step, 2 * m);
#pragma unroll
      for (int d = 0; d < kTilesOfGroup; d += Product::kColumnTiles) {
        if (kHasRest && first + d >= Sums::kColumnTiles) break;
        Product::template multiply_pv<KTile>(sums, d, rows, k_lane, step);
      }
    }
  }
};

/// The last pass: blocks are (kRowsPadded rows, heads, batch), a warp for 16 rows.
template <class Config>
struct QuerySumsPass {
  using Element = typename Config::Element;
  using Sums = QuerySums<Element, Config::kHeadDim>;
  using QTile = Tile<Element, kRowsPadded, Config::kHeadDim>;
  static constexpr int kRowsPerWarp = 16;
  static constexpr int kThreads = kRowsPadded / kRowsPerWarp * 32;
  static constexpr int kSharedBytes = Products<Element>::kStagesOutput ? QTile::kBytes : 0;

  static __device__ __forceinline__ void run(const BackwardParams& params) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const CallParams& call = params.forward.call;
    const auto [x, y, z] = block_index();
    const bool by_head = HeadCounts::are_kept(params);
    // By heads in the order in which they end. Else the last heads first: the L2 cache still has their sums.
    const int first_row = x * kRowsPadded, h = by_head ? y : call.num_q_heads - 1 - y,
              b = by_head ? z : call.batch - 1 - z;
    if (by_head) {
      const int kv_len = Sequence::kv_len(call, b);
      HeadCounts::await_keys(params, b, Sequence::kv_head(call, h),
                             (kv_len + Config::kTileKv - 1) / Config::kTileKv);
    } else {
      await_pass_before();
    }
    const float* const from = Sums::of_rows(params, b, h, first_row + warp_of_cta() * kRowsPerWarp) +
                              lane_of_warp() * Sums::kLaneStep;
    float sums[1][Sums::kColumnTiles][4];
#pragma unroll
    for (int d = 0; d < Sums::kColumnTiles; ++d)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[0][d][i] = from[d * Sums::kFloatsOfTile + Sums::kStep * i];
    store_gradient<QTile>(
        gradient_rows<Element>(params.d_q, params.d_q_strides, b, h, first_row, Sequence::q_len(call, b)),
        shared, sums, call.scale * kept_scale<Config>(call),
        {static_cast<int>(warp_of_cta()) * kRowsPerWarp, 0});
    // What follows this pass finds dK and dV, too.
    if (by_head && x == 0 && y == 0 && z == 0) await_pass_before();
  }
};

}  // namespace fa
