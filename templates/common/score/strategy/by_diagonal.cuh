// An addend that depends on q_idx - kv_idx alone, as a relative bias: evaluated once for the elements of a
// tile that share a distance. The multiplier is one number for all of them.
#pragma once

#include "common/score/strategy/strategy.cuh"

namespace fa {

struct ScoresByDiagonal : ScoreStrategy {
  static constexpr bool kAsksRows = false;

  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile& tile, const ForwardParams& params,
                                                const typename Hooks::Head& head, WalkStep step, float) {
    const int kv0 = step.tile() * Tile::kTileKv;
    const typename Hooks::Column first = Hooks::column(params.call, head, kv0, static_cast<float>(kv0));
    const float multiplier = Hooks::multiplier(params.call, head, typename Hooks::Row{}, first);
    tile.template for_each_diagonal<Hooks::kRelativeAddendSize>(
        params, kv0, [&](int distance) { return Hooks::relative_addend(params.call, head, distance); },
        [&](float& x, float addend) { x = fmaf(multiplier, x, addend); });
    return 0.0f;
  }
};

}  // namespace fa
