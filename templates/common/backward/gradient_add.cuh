// The one way from a sum of terms to an element of a captured gradient in memory.
#pragma once

#include "backward_params.h"
#include "common/backward/derivatives.cuh"
#include "common/backward/exact_sum.cuh"

namespace fa {

/// Adds to an element that other CTAs may add to, too: in an order that differs from run to run, or exactly.
template <class Adjoint>
__device__ __forceinline__ void add_to_element(const BackwardParams& params, long long element, float sum) {
  if constexpr (Adjoint::kRepeats)
    add_exactly(params.exact_sums[Adjoint::kGradient] + element, sum);
  else
    atomicAdd(params.gradients[Adjoint::kGradient] + element, sum);
}

/// One term alone, of an element that may have one writer.
template <class Adjoint>
__device__ __forceinline__ void give_term(const BackwardParams& params, long long element, float term) {
  if constexpr (Adjoint::kIsOnce) {
    if (has_one_writer(params.forward.call, Adjoint::kIsOfBatch, Adjoint::kIsOfHead)) {
      params.gradients[Adjoint::kGradient][element] = term;
      return;
    }
  }
  add_to_element<Adjoint>(params, element, term);
}

}  // namespace fa
