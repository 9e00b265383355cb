// Logits element by element: whatever score_mod computes, or a multiplier and an addend.
#pragma once

#include "common/score/strategy/strategy.cuh"

namespace fa {

struct GeneralScores : ScoreStrategy {
  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile& tile, const ForwardParams& params,
                                                const typename Hooks::Head& head, WalkStep step, float) {
    using Row = typename Hooks::Row;
    using Column = typename Hooks::Column;
    tile.template for_each_element<Tile::kScoreCopies>(params, head, step.tile() * Tile::kTileKv,
                                                       [&](float& x, const Row& row, const Column& column) {
                                                         x = Hooks::logit(x, params.call, head, row, column);
                                                       });
    return 0.0f;
  }
};

/// multiplier * score + addend: one FMA beside what these two take.
struct AffineScores : ScoreStrategy {
  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile& tile, const ForwardParams& params,
                                                const typename Hooks::Head& head, WalkStep step, float) {
    using Row = typename Hooks::Row;
    using Column = typename Hooks::Column;
    tile.template for_each_element<Tile::kScoreCopies>(
        params, head, step.tile() * Tile::kTileKv, [&](float& x, const Row& row, const Column& column) {
          x = fmaf(Hooks::multiplier(params.call, head, row, column), x,
                   Hooks::addend(params.call, head, row, column));
        });
    return 0.0f;
  }
};

}  // namespace fa
