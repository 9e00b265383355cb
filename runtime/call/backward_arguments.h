// Checks everything about a backward call and turns its arguments into those of the launch.
#pragma once

#include <array>
#include <cstdint>

#include "compiler/spec/spec.h"
#include "fa/backward.h"
#include "templates/backward_params.h"

namespace fa {

/// A checked call.
struct BackwardCall {
  BackwardParams params{};
  // By the gradient's number (kMaxGradients); null and 0 where there is none. `params` has the elements of each.
  std::array<float*, kMaxGradients> gradients{};
  bool has_elements = true;  // false: no query or no key, so every gradient is 0
};

/// Throws ArgumentError naming what does not fit, and the remedy. The workspace is only seen to lie apart.
BackwardCall prepare_backward(const CheckedSpec& spec, Device device, const BackwardArgs& args);

/// Stores 0 in everything that the call writes: host memory alone.
void fill_zeros(const CheckedSpec& spec, const BackwardCall& call);

}  // namespace fa
