// An addend that is one number in some tiles, which the walk calls plain: their logits gain it with their
// exponentials, as a shift of the softmax's reference. In other tiles it is added to raw scores, over the
// scale.
#pragma once

#include "common/score/strategy/strategy.cuh"

namespace fa {

struct ShiftedScores : ScoreStrategy {
  static constexpr bool kIsRaw = true;
  static constexpr bool kHasShift = true;

  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile& tile, const ForwardParams& params,
                                                const typename Hooks::Head& head, WalkStep step, float) {
    using Row = typename Hooks::Row;
    using Column = typename Hooks::Column;
    const int kv0 = step.tile() * Tile::kTileKv;
    float shift = 0.0f;
    if (step.plain()) {
      const Column first = Hooks::column(params.call, head, kv0, static_cast<float>(kv0));
      shift = Hooks::addend(params.call, head, tile.first_row_values(), first);
    } else {
      const float inverse = 1.0f / params.call.scale_log2;
      tile.template for_each_element<Tile::kScoreCopies>(
          params, head, kv0, [&](float& x, const Row& row, const Column& column) {
            x = fmaf(Hooks::addend(params.call, head, row, column), inverse, x);
          });
    }
    return shift;
  }
};

/// The same of an addend that depends on q_idx - kv_idx alone (common/score/strategy/by_diagonal.cuh).
struct ShiftedByDiagonal : ScoreStrategy {
  static constexpr bool kIsRaw = true;
  static constexpr bool kHasShift = true;
  static constexpr bool kAsksRows = false;
  static constexpr bool kFillsRegisters = true;

  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile& tile, const ForwardParams& params,
                                                const typename Hooks::Head& head, WalkStep step, float) {
    const int kv0 = step.tile() * Tile::kTileKv;
    float shift = 0.0f;
    const float inverse = 1.0f / params.call.scale_log2;
    const auto relative = [&](int distance) { return Hooks::relative_addend(params.call, head, distance); };
    if (step.plain()) {
      shift = relative(tile.distance_at(params, kv0, 0));
    } else {
      tile.template for_each_diagonal<Hooks::kRelativeAddendSize>(
          params, kv0, [&](int distance) { return relative(distance) * inverse; },
          [](float& x, float addend) { x += addend; });
    }
    return shift;
  }
};

}  // namespace fa
