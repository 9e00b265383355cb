// dQ of a q tile: one CTA per (q tile, q head, batch). Q and dO stay, the kv tiles pass by, as in the forward
// pass; S and dP are computed once more, so that nobody else adds to the rows and their bits never differ.
//
// Warps        all alike; each owns tile_q / warps query rows.
// Shared       Q | dO | (K | V) x stages. dQ leaves through Q's room.
// Parts        a kv tile is worked on kPart keys at a time: S and dP of all of it would take too many registers.
// Protocol     as in keys.cuh.
#pragma once

#include "common/backward/elements.cuh"
#include "common/backward/gradient_store.cuh"
#include "common/backward/kept_scale.cuh"
#include "common/backward/row_stats.cuh"
#include "common/backward/tile_products.cuh"
#include "common/dependent_launch.cuh"
#include "common/tile.cuh"
#include "common/tiles/key_tiles.cuh"
#include "common/tiles/tile_walk.cuh"

namespace fa {

template <class Config, class Hooks, class Classes, class Derivatives>
struct BackwardQueries {
  using Element = typename Config::Element;
  using QTile = Tile<Element, Config::kTileQ, Config::kHeadDim>;
  using DoTile = Tile<Element, Config::kTileQ, Config::kHeadDimV>;
  using KTile = Tile<Element, Config::kTileKv, Config::kHeadDim>;
  using VTile = Tile<Element, Config::kTileKv, Config::kHeadDimV>;
  static constexpr int kWarps = Config::kWarps;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRowsPerWarp = Config::kTileQ / kWarps;
  static constexpr int kPart = Config::kTileKv % 64 == 0 ? 64 : 32;  // keys; whole calls of Philox
  static constexpr int kM = kRowsPerWarp / 16;
  static constexpr int kN = kPart / 8;
  static_assert(kRowsPerWarp % 16 == 0 && Config::kTileKv % kPart == 0);

  static constexpr int kDoOffset = QTile::kBytes;
  static constexpr int kStagesOffset = kDoOffset + DoTile::kBytes;
  static constexpr int kVOffset = KTile::kBytes;  // in a stage
  static constexpr int kStageBytes = kVOffset + VTile::kBytes;
  static constexpr int kSharedBytes = kStagesOffset + Config::kStages * kStageBytes;

  using Sums = float[kM][kColumnTilesOf<QTile>][4];
  using OfElements = Elements<Config, Hooks, Derivatives, false, kM, kN>;
  using Captured = typename OfElements::Captured;
  using Walk = typename WalkOf<KeyTiles<Classes, Config::kTileQ, Config::kTileKv, true>>::Type;

  static __device__ __forceinline__ void run(const BackwardParams& params) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const ForwardParams& forward = params.forward;
    const WorkItem item{};
    if (!item.exists(forward)) return;
    const auto [b, h] = item.head(forward);
    const int q_tile = item.template q_tile<true>(forward, Config::kTileQ);
    const int q0 = q_tile * Config::kTileQ;
    const int kv_head = Sequence::kv_head(forward.call, h);
    const int q_len = Sequence::q_len(forward.call, b), kv_len = Sequence::kv_len(forward.call, b);
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const unsigned copy_to = smem + copy_offset();

    Copy<QTile, kThreads> q_copy;
    Copy<DoTile, kThreads> d_o_copy;
    q_copy.start(copy_to, Sequence::head_bytes<Element::kBytes>(forward.q, forward.q_strides, b, h),
                 static_cast<int>(forward.q_strides.row), q0, q_len);
    q_copy.settle(copy_to);
    d_o_copy.start(copy_to + kDoOffset,
                   Sequence::head_bytes<Element::kBytes>(params.d_o, params.d_o_strides, b, h),
                   static_cast<int>(params.d_o_strides.row), q0, q_len);
    d_o_copy.settle(copy_to + kDoOffset);
    close_copies();
    await_pass_before();

    const char* const k = Sequence::head_bytes<Element::kBytes>(forward.k, forward.k_strides, b, kv_head);
    const char* const v = Sequence::head_bytes<Element::kBytes>(forward.v, forward.v_strides, b, kv_head);
    const auto load = [&](int tile, int stage) {
      Copy<KTile, kThreads> k_copy;
      Copy<VTile, kThreads> v_copy;
      const unsigned to = copy_to + kStagesOffset + stage * kStageBytes;
      k_copy.start(to, k, static_cast<int>(forward.k_strides.row), tile * Config::kTileKv, kv_len);
      v_copy.start(to + kVOffset, v, static_cast<int>(forward.v_strides.row), tile * Config::kTileKv, kv_len);
      k_copy.settle(to);  // as in keys.cuh
      v_copy.settle(to + kVOffset);
    };
    StatsOfLine stats[kM][2];
    const RowStats of_head = RowStats::of_head(params, b, h);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = q0 + warp_of_cta() * kRowsPerWarp + 16 * m + 8 * half + lane_of_warp() / 4;
        stats[m][half] = {of_head.lse[row], of_head.d[row]};
      }

    Sums dq;
    clear(dq);
    Captured captured;
    captured.clear();
    Walk walk{{item}};
    WalkStep now = walk.first(forward);
    int stage = 0;
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
      const int kv0 = now.tile() * Config::kTileKv;
      // As in keys.cuh.
      const bool full =
          Hooks::kHasMask ? now.full() : q0 + Config::kTileQ <= q_len && kv0 + Config::kTileKv <= kv_len;
#pragma unroll 1
      for (int part = 0; part < Config::kTileKv / kPart; ++part)
        visit(dq, captured, params, stats, {b, h, q0, kv0, q0, kv0 + part * kPart}, full, smem,
              smem + kStagesOffset + stage * kStageBytes + part * kPart * 128);
      if constexpr (Config::kStages == 1) {
        __syncthreads();
        if (then.exists()) load(then.tile(), 0);
        close_copies();
      }
      now = then;
      stage = other;
    }
    if constexpr (OfElements::kCaptures)
      captured.finish(
          params, b, h,
          [&](int line) {
            const int q_idx =
                q0 + warp_of_cta() * kRowsPerWarp + 16 * (line / 2) + 8 * (line % 2) + lane_of_warp() / 4;
            return q_idx < q_len ? q_idx : -1;
          },
          nullptr);
    await_copies<0>();  // Q, where there was no tile
    __syncthreads();
    store_gradient<QTile>(gradient_rows<Element>(params.d_q, params.d_q_strides, b, h, q0, q_len), shared, dq,
                          forward.call.scale * kept_scale<Config>(forward.call),
                          {static_cast<int>(warp_of_cta()) * kRowsPerWarp, 0});
  }

 private:
  /// `stage`: K's rows of this part; V's lie kVOffset further.
  static __device__ __forceinline__ void visit(Sums& dq, Captured& captured, const BackwardParams& params,
                                               const StatsOfLine (&stats)[kM][2], ElementsPlace place,
                                               bool full, unsigned smem, unsigned stage) {
    float s[kM][kN][4], dp[kM][kN][4];
    const unsigned warp_row = warp_of_cta() * kRowsPerWarp;
    multiply_rows<QTile, KTile>(s, smem + warp_row * 128, stage);
    multiply_rows<DoTile, VTile>(dp, smem + kDoOffset + warp_row * 128, stage + kVOffset);
    place.q0 += warp_row;
    const OfElements elements(params, place);
    typename OfElements::Listed listed;
    if constexpr (Hooks::kListsKeys) {
      if (!full) listed = elements.find_listed();
    }
    if (full)
      elements.template apply<false>(s, dp, stats, listed, captured, nullptr);
    else
      elements.template apply<true>(s, dp, stats, listed, captured, nullptr);
    add_product<KTile>(dq, dp, stage);
  }
};

}  // namespace fa
