// An addend that is a constant times something: added to raw scores in one instruction. Where the something
// is staged (common/score/staged_reads.cuh), scores may begin with it instead (`begin_scores` in
// common/score/score_tile.cuh), and nothing is left to do here.
#pragma once

#include "common/score/strategy/strategy.cuh"

namespace fa {

struct ProductScores : ScoreStrategy {
  static constexpr bool kIsRaw = true;
  static constexpr bool kIsProduct = true;

  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile& tile, const ForwardParams& params,
                                                const typename Hooks::Head& head, WalkStep step, float) {
    using Row = typename Hooks::Row;
    using Column = typename Hooks::Column;
    [[maybe_unused]] const float factor = Hooks::addend_factor() / params.call.scale_log2;
    if constexpr (!Tile::kBeginsWithAddend)
      tile.template for_each_element<Tile::kScoreCopies>(
          params, head, step.tile() * Tile::kTileKv, [&](float& x, const Row& row, const Column& column) {
            x = fmaf(Hooks::addend_term(params.call, head, row, column), factor, x);
          });
    return 0.0f;
  }
};

}  // namespace fa
