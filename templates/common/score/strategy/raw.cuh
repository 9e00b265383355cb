// Scores that no score_mod changes, but for terms of the row, which join lse at the end.
#pragma once

#include "common/score/strategy/strategy.cuh"

namespace fa {

struct RawScores : ScoreStrategy {
  static constexpr bool kIsRaw = true;
  static constexpr bool kAsksHead = false;
  static constexpr bool kAsksRows = false;

  template <class Hooks, class Tile>
  static __device__ __forceinline__ float apply(Tile&, const ForwardParams&, const typename Hooks::Head&,
                                                WalkStep, float) {
    return 0.0f;
  }
};

}  // namespace fa
