// dK and dV of a kv tile: one CTA per (kv tile, kv head, batch). K and V stay, the q tiles of every head of the
// group pass by, so that what heads of q share is summed here, in one order, by no atomic addition.
//
// Transposed   S^T = K Q^T and dP^T = V dO^T have keys down their rows. P^T and dS^T are then left operands of
//              dV += P^T dO and dK += dS^T Q as they lie in registers, and a warp keeps the rows it owns: nothing
//              of a score passes through shared memory.
// Warps        all alike; each owns tile_kv / warps keys.
// Shared       K | V | (Q | dO | lse | D) x stages | dS | sums of what is captured. dK and dV leave through K's and V's
//              room. dS is there where dQ is summed, too (query_sums.cuh).
// Protocol     per q tile: Q, dO, lse and D arrive -> barrier -> (with two stages the next copies start) -> S^T, dP^T
//              -> P^T, dS^T -> dV, dK (-> barrier -> dQ's part). With one stage a second barrier ends the step, and the next copies start then.
// Ragged edge  rows past q_len have lse +inf and dO 0; keys past kv_len are computed and not stored.
// Wide heads   where dK and dV together take more registers than a thread has, a pass computes one of them
//              (Config::kGradients), and P or dS again.
#pragma once

#include "common/backward/elements.cuh"
#include "common/backward/gradient_store.cuh"
#include "common/backward/query_sums.cuh"
#include "common/backward/row_stats.cuh"
#include "common/backward/tile_products.cuh"
#include "common/dependent_launch.cuh"
#include "common/lane_store.cuh"
#include "common/tile.cuh"
#include "common/tiles/query_tiles.cuh"
#include "common/tiles/tile_walk.cuh"

namespace fa {

/// The q tiles of one head that meet a kv tile.
struct KeysItem {
  int b, h, tile;

  __device__ __forceinline__ BatchHead head(const ForwardParams&) const { return {b, h}; }
  __device__ __forceinline__ int kv_tile(const ForwardParams&) const { return tile; }
  __device__ __forceinline__ int q_len(const ForwardParams& params) const {
    return Sequence::q_len(params.call, b);
  }
  __device__ __forceinline__ int kv_len(const ForwardParams& params) const {
    return Sequence::kv_len(params.call, b);
  }
};

enum Gradients { kGradientK = 1, kGradientV = 2, kGradientQ = 4 };

template <class Config, class Hooks, class Classes, class Derivatives, int kGradients>
struct BackwardKeys {
  using Element = typename Config::Element;
  using KTile = Tile<Element, Config::kTileKv, Config::kHeadDim>;
  using VTile = Tile<Element, Config::kTileKv, Config::kHeadDimV>;
  using QTile = Tile<Element, Config::kTileQ, Config::kHeadDim>;
  using DoTile = Tile<Element, Config::kTileQ, Config::kHeadDimV>;
  static constexpr int kThreads = Config::kWarps * 32;
  static constexpr int kRowsPerWarp = Config::kTileKv / Config::kWarps;
  static constexpr int kM = kRowsPerWarp / 16;
  static constexpr int kN = Config::kTileQ / 8;
  static constexpr bool kHasK = (kGradients & kGradientK) != 0;
  static constexpr bool kHasV = (kGradients & kGradientV) != 0;
  static constexpr bool kHasQ = (kGradients & kGradientQ) != 0;  // common/backward/query_sums.cuh
  using DsTile = Tile<Element, Config::kTileKv, Config::kTileQ>;
  static_assert(kRowsPerWarp % 16 == 0 && Config::kTileQ % 16 == 0);

  static constexpr int kVOffset = KTile::kBytes;
  static constexpr int kStagesOffset = kVOffset + VTile::kBytes;
  static constexpr int kDoOffset = QTile::kBytes;  // in a stage
  static constexpr int kLseOffset = kDoOffset + DoTile::kBytes;
  static constexpr int kDOffset = kLseOffset + 4 * Config::kTileQ;
  static constexpr int kStageBytes = (kDOffset + 4 * Config::kTileQ + 1023) / 1024 * 1024;
  static constexpr int kDsOffset = kStagesOffset + Config::kStages * kStageBytes;
  static constexpr int kCapturedOffset = kDsOffset + (kHasQ ? DsTile::kBytes : 0);
  // What hooks capture goes with dK.
  using OfElements = Elements<Config, Hooks, Derivatives, true, kM, kN, kHasK>;
  using Captured = typename OfElements::Captured;
  static constexpr bool kCaptures = OfElements::kCaptures;
  static constexpr bool kHasDistances = kCaptures && Captured::kHasDistances;
  static constexpr int kSharedBytes = kCapturedOffset + (kCaptures ? Captured::kSharedBytes : 0);

  template <class Tile>
  using Sums = float[kM][kColumnTilesOf<Tile>][4];
  using Scores = float[kM][kN][4];
  enum Base { kBaseQ, kBaseDo, kBaseLse, kBaseD };  // places in the LaneStore
  using Walk = typename WalkOf<QueryTiles<Classes, Config::kTileQ, Config::kTileKv, KeysItem>>::Type;

  /// The copies of one stage.
  struct Stage {
    Copy<QTile, kThreads> q;
    Copy<DoTile, kThreads> d_o;
    CopyPieces<4 * Config::kTileQ, kThreads> lse, d;
  };

  static __device__ __forceinline__ void run(const BackwardParams& params) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const int kv_tile = block_index().x, kv_head = block_index().y, b = block_index().z;
    const ForwardParams& forward = params.forward;
    const CallParams& call = forward.call;
    const int kv0 = kv_tile * Config::kTileKv;
    const int q_len = Sequence::q_len(call, b), kv_len = Sequence::kv_len(call, b);
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const unsigned copy_to = smem + copy_offset();
    const unsigned stages = smem + kStagesOffset;

    Copy<KTile, kThreads> k_copy;
    Copy<VTile, kThreads> v_copy;
    k_copy.start(copy_to, Sequence::head_bytes<Element::kBytes>(forward.k, forward.k_strides, b, kv_head),
                 static_cast<int>(forward.k_strides.row), kv0, kv_len);
    k_copy.settle(copy_to);
    v_copy.start(copy_to + kVOffset,
                 Sequence::head_bytes<Element::kBytes>(forward.v, forward.v_strides, b, kv_head),
                 static_cast<int>(forward.v_strides.row), kv0, kv_len);
    v_copy.settle(copy_to + kVOffset);
    close_copies();
    if constexpr (Classes::kHasTileMap) await_pass_before();

    Sums<KTile> dk;
    Sums<VTile> dv;
    clear(dk);
    clear(dv);
    Captured captured;
    auto* const room = reinterpret_cast<float*>(shared + kCapturedOffset);
    if constexpr (kCaptures && Captured::kHasTables) Captured::clear_tables(room);
#pragma unroll 1
    for (int h = kv_head * call.group_size; h < (kv_head + 1) * call.group_size; ++h) {
      LaneStore bases;  // of what is copied every tile: the loop has no register to spare
      bases.put(kBaseQ, Sequence::head_bytes<Element::kBytes>(forward.q, forward.q_strides, b, h));
      bases.put(kBaseDo, Sequence::head_bytes<Element::kBytes>(params.d_o, params.d_o_strides, b, h));
      bases.put(kBaseLse, RowStats::of_head(params, b, h).lse);
      bases.put(kBaseD, RowStats::of_head(params, b, h).d);
      bases.seal();
      const auto load = [&](int tile, int stage) {
        const unsigned to = copy_to + kStagesOffset + stage * kStageBytes;
        const unsigned pieces = stages + stage * kStageBytes;
        const int q0 = tile * Config::kTileQ;
        Stage copies;
        copies.q.start(to, bases.get(kBaseQ), static_cast<int>(forward.q_strides.row), q0, q_len);
        copies.d_o.start(to + kDoOffset, bases.get(kBaseDo), static_cast<int>(params.d_o_strides.row), q0,
                         q_len);
        copies.lse.start(pieces + kLseOffset, bases.get(kBaseLse) + 4 * q0);
        copies.d.start(pieces + kDOffset, bases.get(kBaseD) + 4 * q0);
        // Copies through registers end here: kept over a search for the next tile, they would be spilled.
        copies.q.settle(to);
        copies.d_o.settle(to + kDoOffset);
        copies.lse.settle(pieces + kLseOffset);
        copies.d.settle(pieces + kDOffset);
      };
      if constexpr (kCaptures) captured.clear();
      Walk walk{{{b, h, kv_tile}}};
      WalkStep now = walk.first(forward);
      int stage = 0;
      __syncthreads();  // the head before is done with its last tiles
      if (now.exists()) load(now.tile(), 0);
      close_copies();
#pragma unroll 1
      while (now.exists()) {
        const WalkStep then = walk.after(forward, now);
        const int other = Config::kStages == 1 ? 0 : 1 - stage;
        await_copies<0>();
        __syncthreads();
        if (Config::kStages == 2 && then.exists()) load(then.tile(), other);
        close_copies();
        const int q0 = now.tile() * Config::kTileQ;
        visit(dk, dv, captured, params, {b, h, q0, kv0, q0, kv0}, now.full(), smem, shared,
              kStagesOffset + stage * kStageBytes);
        if constexpr (kHasDistances) {
          __syncthreads();
          Captured::flush(params, room, b, h, q0, kv0);
        }
        if constexpr (Config::kStages == 1) {
          __syncthreads();
          if (then.exists()) load(then.tile(), 0);
          close_copies();
        }
        now = then;
        stage = other;
      }
      if constexpr (kCaptures)
        captured.finish(
            params, b, h,
            [&](int line) {
              const int kv_idx =
                  kv0 + warp_of_cta() * kRowsPerWarp + 16 * (line / 2) + 8 * (line % 2) + lane_of_warp() / 4;
              return kv_idx < kv_len ? kv_idx : -1;
            },
            room);
    }
    await_copies<0>();  // K and V, where there was no tile
    __syncthreads();
    if constexpr (kHasK)
      store_gradient<KTile, kRowsPerWarp>(
          gradient_rows<Element>(params.d_k, params.d_k_strides, b, kv_head, kv0, kv_len), shared, dk,
          call.scale);
    if constexpr (kHasV)
      store_gradient<VTile, kRowsPerWarp>(
          gradient_rows<Element>(params.d_v, params.d_v_strides, b, kv_head, kv0, kv_len), shared + kVOffset,
          dv, Config::kDropout ? call.keep_scale : 1.0f);
  }

 private:
  /// `stage_offset`: of the tile's stage, in shared memory.
  static __device__ __forceinline__ void visit(Sums<KTile>& dk, Sums<VTile>& dv, Captured& captured,
                                               const BackwardParams& params, ElementsPlace place, bool full,
                                               unsigned smem, unsigned char* shared, int stage_offset) {
    const unsigned stage = smem + stage_offset;
    Scores s, dp;
    const unsigned warp_rows = smem + warp_of_cta() * kRowsPerWarp * 128;
    multiply_rows<KTile, QTile>(s, warp_rows, stage);
    if constexpr (kHasK)
      multiply_rows<VTile, DoTile>(dp, warp_rows + kVOffset, stage + kDoOffset);
    else
      clear(dp);
    place.kv0 += warp_of_cta() * kRowsPerWarp;
    const OfElements elements(params, place);
    const auto* const lse = reinterpret_cast<const float*>(shared + stage_offset + kLseOffset);
    const StatsOfColumns of_columns = {lse, lse + Config::kTileQ};
    auto* const room = reinterpret_cast<float*>(shared + kCapturedOffset);
    if (full)
      elements.template apply<false>(s, dp, of_columns, captured, room);
    else
      elements.template apply<true>(s, dp, of_columns, captured, room);
    if constexpr (kHasQ) stage_rows<DsTile, kRowsPerWarp>(shared + kDsOffset, dp, 1.0f);
    if constexpr (kHasV) add_product<DoTile>(dv, s, stage + kDoOffset);
    if constexpr (kHasK) add_product<QTile>(dk, dp, stage);
    if constexpr (kHasQ) {
      __syncthreads();  // dS is there
      QueryPart<Config>::add(params, place.b, place.h, place.tile_q0, smem + kDsOffset, smem);
    }
  }
};

}  // namespace fa
