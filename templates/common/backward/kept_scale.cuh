// What dropout multiplies the probabilities by that it keeps, in the backward pass: dL = P (Z keep_scale dP - D). Tiles leave it out,
// with D divided by it (common/backward/row_stats.cuh): dL and dS are then that much smaller, and dQ, dK and the gradients of what hooks
// capture get it once each. P Z is without it, too; so is dV until it is stored.
#pragma once

#include "params.h"

namespace fa {

/// 1 without dropout, and where everything is dropped, since dP has no part in dL then.
template <class Config>
__device__ __forceinline__ float kept_scale(const CallParams& call) {
  if constexpr (Config::kDropout) return call.keep_scale > 0.0f ? call.keep_scale : 1.0f;
  return 1.0f;
}

}  // namespace fa
