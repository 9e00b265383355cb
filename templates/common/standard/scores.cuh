// Standard attention, pass 1: S = Q K^T with hooks and mask, stored. One CTA per (q tile, q head, batch), which goes over
// all kv tiles: none is skipped, whatever the mask keeps.
//
// Shared       Q | K x stages
// Protocol     per kv tile: K arrives -> barrier -> (the next K's copy starts, into the other buffer) -> S = Q K^T ->
//              logits -> stored. Copies through registers (sm_75) have one buffer and a second barrier.
// Stores       a thread has two neighbours of a row; the four lanes of a quad exchange theirs, so that each stores 16
//              bytes and a warp whole sectors.
// Ragged edge  columns past kv_len are -inf, up to the end of their tile; rows past q_len are not stored.
// Row's terms  what score_mod adds to all keys of a row joins the tiles' maxima, and so lse.
#pragma once

#include "common/products.cuh"
#include "common/score/score_product.cuh"
#include "common/standard/score_room.cuh"
#include "common/tile.cuh"
#include "common/tiles/shared_map.cuh"

namespace fa {

template <class Config, class Hooks>
struct StandardScores : ScoreProduct<Config, Hooks, NoClasses> {
  using Scores = ScoreProduct<Config, Hooks, NoClasses>;
  using Scores::item;
  using Scores::k_lane;
  using Scores::kMTiles;
  using Scores::kNTiles;
  using Scores::kRowsPerWarp;
  using Scores::kTileKv;
  using Scores::q_lane;
  using Scores::s;
  using typename Scores::KTile;
  using typename Scores::Place;
  using typename Scores::Product;
  using typename Scores::QTile;
  using typename Scores::Score;
  using Element = typename Config::Element;
  using Linear = LinearAddend<Hooks>;
  using Room = ScoreRoom<Element, kTileKv>;
  static_assert(!Hooks::kStagesColumns && !Hooks::kStagesElements);
  static_assert(kNTiles % 4 == 0);

  static constexpr int kThreads = Config::kWarps * 32;
  static constexpr int kBuffers = Config::kStages > 1 ? 2 : 1;
  static constexpr int kKOffset = QTile::kBytes;
  static constexpr int kSharedBytes = kKOffset + kBuffers * KTile::kBytes;

  static __device__ __forceinline__ void run(const BaselineParams& params) {
    StandardScores scores;
    scores.run_item(params);
  }

 private:
  using OfRows = float[kMTiles][2];

  __device__ __forceinline__ void run_item(const BaselineParams& baseline) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const ForwardParams& params = baseline.forward;
    const int lane = lane_of_warp();
    const int q0 = this->first_row(params);
    const auto [b, h] = item.head(params);
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    q_lane = smem + Place::first_row_of_warp() * 128 + Product::lane_offset_q(lane);
    k_lane = smem + kKOffset + Product::lane_offset_k(lane);
    const unsigned copy_to = smem + copy_offset();

    Copy<QTile, kThreads> q_copy;
    q_copy.start(copy_to, Sequence::head_bytes<Element::kBytes>(params.q, params.q_strides, b, h),
                 static_cast<int>(params.q_strides.row), q0, item.q_len(params));
    q_copy.settle(copy_to);
    Copy<KTile, kThreads> k_copy;
    const char* const k = Sequence::head_bytes<Element::kBytes>(params.k, params.k_strides, b,
                                                                Sequence::kv_head(params.call, h));
    const auto load_k = [&](int tile, int stage) {
      k_copy.start(copy_to + kKOffset + stage * KTile::kBytes, k, static_cast<int>(params.k_strides.row),
                   tile * kTileKv, item.kv_len(params));
    };
    load_k(0, 0);
    close_copies();

    const typename Hooks::Head head = this->find_head(params);
    if constexpr (!Hooks::kRowIsCheap) this->find_rows(params, head);
    OfRows of_rows = {};
    find_row_terms(of_rows, params, head);
    float slope = 0.0f;  // of raw scores
    if constexpr (Score::kIsLinear) slope = Hooks::addend_slope(params.call, head) / params.call.scale_log2;
    const Room room = Room::of_head(baseline, b, h);
    int stage = 0;
#pragma unroll 1
    for (int tile = 0; tile < room.num_tiles; ++tile) {
      if constexpr (kBuffers == 1) __syncthreads();  // every warp is done with the tile before
      k_copy.settle(copy_to + kKOffset + stage * KTile::kBytes);
      await_copies<0>();
      __syncthreads();
      if (tile + 1 < room.num_tiles) load_k(tile + 1, kBuffers - 1 - stage);
      close_copies();
      const int kv0 = tile * kTileKv;
      const unsigned k_of_stage = k_lane + stage * KTile::kBytes;
      this->begin_scores(params, head, kv0);
      this->multiply_qk(k_of_stage);
      this->apply_hooks(params, head, {tile * WalkStep::kOneTile}, slope);
      float tile_max[kMTiles][2];
      this->find_maximum(tile_max);
      float rise = 0.0f;  // what a linear addend adds to the tile's first column
      if constexpr (Score::kIsLinear)
        rise = params.call.scale_log2 * slope * static_cast<float>(kv0 - Linear::diagonal(*this, params));
      store(params, room, q0, tile, tile_max, of_rows, rise);
      stage = kBuffers - 1 - stage;
    }
  }

  /// What the logits of each of the thread's rows gain that scores know nothing of.
  __device__ __forceinline__ void find_row_terms(OfRows& terms, const ForwardParams& params,
                                                 typename Hooks::Head head) {
    if constexpr (Hooks::kHasRowAddend) {
      float addends[Place::kRows];
      this->find_row_addends(addends, params);
      Place::for_each_row(
          [&](typename Place::ThreadRow row) { Place::of_row(terms, row) = addends[row.number()]; });
    }
    if constexpr (Score::kIsLinear) {
      if constexpr (Hooks::kHeadIsCheap) head = this->find_head(params);
      if constexpr (Hooks::kRowIsCheap) this->find_rows(params, head);
      const int kv_idx = Linear::diagonal(*this, params);
      const typename Hooks::Column column =
          Hooks::column(params.call, head, kv_idx, static_cast<float>(kv_idx));
      Place::for_each_row([&](typename Place::ThreadRow row) {
        Place::of_row(terms, row) += Hooks::addend(params.call, head, Place::of_row(this->rows, row), column);
      });
    }
  }

  __device__ __forceinline__ void store(const ForwardParams& params, const Room& room, int q0, int tile,
                                        const OfRows& tile_max, const OfRows& of_rows, float rise) {
    const int lane = lane_of_warp();
    const float scale = Score::kIsRaw ? params.call.scale_log2 : 1.0f;
    const int first = q0 + Place::first_row();
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int q_idx = first + Place::row_offset({m, half});
        const bool exists = q_idx < item.q_len(params);
        // Finite where all is masked: -inf stays -inf then, and no difference is NaN.
        const float largest = fmaxf(quad_max(tile_max[m][half]) * scale, -3.402823466e38f);
        if (exists && Place::leads_rows(lane))
          room.row_maxima(q_idx)[tile] = largest + rise + of_rows[m][half];
        char* const out = room.row(q_idx) + tile * (kTileKv * Element::kBytes);
        const auto beyond = [&](int n, int i) { return fmaf(s[m][n][2 * half + i], scale, -largest); };
        if constexpr (Element::kBytes == 4) {
          if (!exists) continue;
#pragma unroll
          for (int n = 0; n < kNTiles; ++n)
            reinterpret_cast<float2*>(out)[4 * n + lane % 4] = make_float2(beyond(n, 0), beyond(n, 1));
        } else {
#pragma unroll
          for (int n = 0; n < kNTiles; n += 4) {
            unsigned words[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) words[i] = pack<Element>(beyond(n + i, 0), beyond(n + i, 1));
            transpose_quad(words);  // all eight columns of one of the four tiles
            if (exists)
              reinterpret_cast<uint4*>(out)[n + lane % 4] =
                  make_uint4(words[0], words[1], words[2], words[3]);
          }
        }
      }
  }
};

}  // namespace fa
