// Linear addends, as ALiBi's: slope * kv_idx and a rest that is one number a row (compiler/analysis/slope). A
// tile's scores get the multiples of the slope beyond its first column, the tile's own part is in the rows'
// references, which move with the tiles, and the rest, of which a softmax knows nothing, joins lse at the
// end.
#pragma once

#include "common/lane_store.cuh"
#include "common/score/hooks.cuh"
#include "common/score/strategy/strategy.cuh"
#include "common/softmax.cuh"
#include "params.h"

namespace fa {

/// What the kv loop keeps of it are two lanes of the store, no register: the slope, of raw scores, and the column that references
/// count from. Every lane of a warp takes part in all of these.
template <class Hooks>
struct LinearAddend {
  /// Before the store is sealed.
  static __device__ __forceinline__ void keep(LaneStore& store, const ForwardParams& params,
                                              const typename Hooks::Head& head) {
    store.put_word(Kept::kSlope,
                   __float_as_uint(Hooks::addend_slope(params.call, head) / params.call.scale_log2));
  }

  /// By how much raw scores grow from column to column.
  static __device__ __forceinline__ float slope(const LaneStore& store) {
    return __uint_as_float(store.get_word(Kept::kSlope));
  }

  /// References count the addend from column `to` on afterwards. What rounding does to a reference it does to
  /// all that follows, and as long as columns count beside each other the numbers it rounds are small.
  template <int kMTiles>
  static __device__ __forceinline__ void count_from(int to, LaneStore& store, const ForwardParams& params,
                                                    SoftmaxRow (&softmax)[kMTiles][2]) {
    move(to, static_cast<int>(store.get_word(Kept::kCountFrom)), params.call.scale_log2 * slope(store),
         softmax);
    store.put_word(Kept::kCountFrom, static_cast<unsigned>(to));
  }

  /// The column where the q tile's first row meets the diagonal.
  template <class Scores>
  static __device__ __forceinline__ int diagonal(const Scores& scores, const ForwardParams& params) {
    const int q_len = scores.item.q_len(params), kv_len = scores.item.kv_len(params);
    return max(0, min(scores.first_row(params) + kv_len - q_len, kv_len - 1));
  }

  /// The rest, after the last tile: asked for at the diagonal, since what grows with the distance from there is
  /// small.
  template <class Scores, int kMTiles>
  static __device__ __forceinline__ void add_rest(Scores& scores, const LaneStore& store,
                                                  const ForwardParams& params, typename Hooks::Head head,
                                                  SoftmaxRow (&softmax)[kMTiles][2]) {
    const int from = static_cast<int>(store.get_word(Kept::kCountFrom));
    const float of_logits = params.call.scale_log2 * slope(store);
    if (scores.item.kv_len(params) == 0) return;
    if constexpr (Hooks::kHeadIsCheap) head = scores.find_head(params);
    if constexpr (Hooks::kRowIsCheap) scores.find_rows(params, head);
    const int kv_idx = diagonal(scores, params);
    move(kv_idx, from, of_logits, softmax);
    const typename Hooks::Column column =
        Hooks::column(params.call, head, kv_idx, static_cast<float>(kv_idx));
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        softmax[m][half].add(
            Hooks::addend(params.call, head, Scores::Place::of_row(scores.rows, {m, half}), column));
  }

 private:
  template <int kMTiles>
  static __device__ __forceinline__ void move(int to, int from, float slope,
                                              SoftmaxRow (&softmax)[kMTiles][2]) {
    const float rise = slope * static_cast<float>(to - from);
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) softmax[m][half].m -= rise;
  }
};

/// What columns add beyond the tile's first, to raw scores. `slope` is that of raw scores.
struct LinearScores : ScoreStrategy {
  static constexpr bool kIsRaw = true;
  static constexpr bool kIsLinear = true;
  static constexpr bool kAsksHead = false;
  static constexpr bool kAsksRows = false;

  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile& tile, const ForwardParams&, const typename Hooks::Head&,
                                                WalkStep, float slope) {
    using Place = typename Tile::Place;
    const float first = static_cast<float>(Place::first_column());
    Place::for_each_column(
        tile.s, [&](float& x, int offset) { x = fmaf(slope, static_cast<float>(offset) + first, x); });
    return 0.0f;
  }
};

}  // namespace fa
