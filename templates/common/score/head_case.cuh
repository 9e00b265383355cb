// Hooks that choose by a condition of the head (compiler/ir/head_case.h): a CTA works on one head, so that it
// asks once a tile which of two sets of hooks to run, each of which knows the answer.
#pragma once

#include "common/score/hooks.cuh"
#include "params.h"

namespace fa {

/// Finished logits, unless both cases leave scores as they are.
template <class OfTrue, class OfFalse>
struct ScoreOfCases {
  using Type = GeneralScores;
};
template <>
struct ScoreOfCases<RawScores, RawScores> {
  using Type = RawScores;
};

/// The generated `Hooks` inherits this and adds `static bool head_case(const CallParams&, int b, int h)`.
template <class OfTrue, class OfFalse>
struct HooksByHead : IdentityHooks {
  using Holds = OfTrue;
  using Fails = OfFalse;
  static constexpr bool kIsByHead = true;
  using Score = typename ScoreOfCases<typename Holds::Score, typename Fails::Score>::Type;
  static constexpr bool kHasMask = Holds::kHasMask || Fails::kHasMask;
  static constexpr bool kHasRowAddend = Holds::kHasRowAddend || Fails::kHasRowAddend;
  static constexpr int kRowAddendSize = Holds::kRowAddendSize + Fails::kRowAddendSize;
  static constexpr bool kHasScoreDerivative = Holds::kHasScoreDerivative || Fails::kHasScoreDerivative;
  static constexpr int kDerivativeSize = Holds::kDerivativeSize + Fails::kDerivativeSize;
};

/// What one of the two says of a single element or row, from scratch.
template <class Hooks>
struct ElementOfCase {
  static __device__ __forceinline__ float row_addend(const CallParams& p, int b, int h, int q_idx) {
    if constexpr (Hooks::kHasRowAddend) return Hooks::row_addend(p, Hooks::head(p, b, h), q_idx);
    return 0.0f;
  }

  static __device__ __forceinline__ float logit(float s, const CallParams& p, int b, int h, int q_idx,
                                                int kv_idx) {
    const auto head = Hooks::head(p, b, h);
    return Hooks::logit(s, p, head, Hooks::row(p, head, q_idx, static_cast<float>(q_idx)),
                        Hooks::column(p, head, kv_idx, static_cast<float>(kv_idx)));
  }

  static __device__ __forceinline__ float d_score(float s, const CallParams& p, int b, int h, int q_idx,
                                                  int kv_idx) {
    const auto head = Hooks::head(p, b, h);
    return Hooks::d_score(s, p, head, Hooks::row(p, head, q_idx, static_cast<float>(q_idx)),
                          Hooks::column(p, head, kv_idx, static_cast<float>(kv_idx)));
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, int b, int h, int q_idx, int kv_idx) {
    const auto head = Hooks::head(p, b, h);
    return Hooks::mask(p, head, Hooks::row(p, head, q_idx, static_cast<float>(q_idx)),
                       Hooks::column(p, head, kv_idx, static_cast<float>(kv_idx)));
  }
};

}  // namespace fa
