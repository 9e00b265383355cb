// FlashAttention, algorithm 1: kv tiles outside, q tiles inside, one CTA per (q head, batch). All but the last pass.
//
// Shared       Q | K | V, as the fused kernel's of one stage
// Protocol     per kv tile: barrier (every warp is done with K and V) -> K's, V's and the first Q's copies start. Per q
//              tile: Q arrives -> barrier -> S = Q K^T -> logits, maximum -> barrier (every warp is done with Q) -> (the
//              next Q's copy starts) -> O += P V. The rows' sums, maxima and sums of probabilities are read before and
//              written after (kept_rows.cuh).
// Skips        no tile, whatever the mask keeps.
// Ragged edge  as in the fused kernel: rows past q_len are computed from zeros and not stored.
// Addends      as they are, never as multiples of a slope that rows' maxima count from tile to tile: every row meets every
//              tile, also those so far from what its mask keeps that such a maximum would lose its last bits.
#pragma once

#include "common/flash1/kept_rows.cuh"

namespace fa {

template <class Config, class Hooks>
struct Flash1Tiles : KeptRows<Config, Hooks> {
  using Rows = KeptRows<Config, Hooks>;
  using Rows::item;
  using Rows::k_lane;
  using Rows::kKOffset;
  using Rows::kMTiles;
  using Rows::kThreads;
  using Rows::kTileKv;
  using Rows::kVOffset;
  using Rows::q_lane;
  using Rows::softmax;
  using typename Rows::Element;
  using typename Rows::KTile;
  using typename Rows::Place;
  using typename Rows::Product;
  using typename Rows::QTile;
  using typename Rows::Score;
  using typename Rows::VTile;
  static_assert(Config::kStages == 1 && !Config::kQInRegisters && !Score::kIsLinear);

  static constexpr int kSharedBytes = Rows::Map::kBytes;

  static __device__ __forceinline__ void run(const BaselineParams& params) {
    Flash1Tiles tiles;
    tiles.run_head(params);
  }

 private:
  __device__ __forceinline__ void run_head(const BaselineParams& baseline) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const ForwardParams& params = baseline.forward;
    const int lane = lane_of_warp();
    const auto [b, h] = item.head(params);
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    q_lane = smem + Place::first_row_of_warp() * 128 + Product::lane_offset_q(lane);
    k_lane = smem + kKOffset + Product::lane_offset_k(lane);
    const unsigned copy_to = smem + copy_offset();

    const int kv_head = Sequence::kv_head(params.call, h);
    LaneStore base;
    base.put(Kept::kRowsOfK, Sequence::head_bytes<Element::kBytes>(params.k, params.k_strides, b, kv_head));
    base.put(Kept::kRowsOfV, Sequence::head_bytes<Element::kBytes>(params.v, params.v_strides, b, kv_head));
    base.put(Kept::kRowsOfQ, Sequence::head_bytes<Element::kBytes>(params.q, params.q_strides, b, h));
    base.seal();
    Copy<QTile, kThreads> q_copy;
    const auto load_q = [&](int tile) {
      q_copy.start(copy_to, base.get(Kept::kRowsOfQ), static_cast<int>(params.q_strides.row),
                   tile * Config::kTileQ, item.q_len(params));
    };
    // Settled at once: there is nothing that a copy through registers could hide behind.
    const auto load_k_and_v = [&](int kv0) {
      Copy<KTile, kThreads> k_copy;
      k_copy.start(copy_to + kKOffset, base.get(Kept::kRowsOfK), static_cast<int>(params.k_strides.row), kv0,
                   item.kv_len(params));
      k_copy.settle(copy_to + kKOffset);
      Copy<VTile, kThreads> v_copy;
      v_copy.start(copy_to + kVOffset, base.get(Kept::kRowsOfV), static_cast<int>(params.v_strides.row), kv0,
                   item.kv_len(params));
      v_copy.settle(copy_to + kVOffset);
    };

    const float scale = Score::kIsRaw ? params.call.scale_log2 : 1.0f;
#pragma unroll 1
    for (int tile = 0; tile * kTileKv < item.kv_len(params); ++tile) {
      const int kv0 = tile * kTileKv;
      __syncthreads();
      load_k_and_v(kv0);
      load_q(0);
      close_copies();
#pragma unroll 1
      for (item.first(params); item.exists(params, Config::kTileQ); item.next(params)) {
        q_copy.settle(copy_to);
        await_copies<0>();
        __syncthreads();
        if (tile == 0) {
          this->start_rows();
        } else {
          this->load_rows(baseline);
        }
        const typename Hooks::Head head = this->find_head(params);
        if constexpr (!Hooks::kRowIsCheap) this->find_rows(params, head);
        this->begin_scores(params, head, kv0);
        this->multiply_qk(k_lane);
        const float shift = this->apply_hooks(params, head, {tile * WalkStep::kOneTile}, 0.0f);
        this->template settle<RowReferences<kMTiles, false>>(base, scale, shift);
        __syncthreads();
        if ((item.tile + 1) * Config::kTileQ < item.q_len(params)) load_q(item.tile + 1);
        close_copies();
        this->multiply_pv(params, this->v_lane(), scale, shift, kv0);
        this->store_rows(baseline);
      }
    }
  }
};

}  // namespace fa
