// Launch arguments of the backward pass's kernels. Plain C++ without other includes than its neighbour, for
// the same reasons as templates/params.h. Strides are in elements, the innermost one is 1.
#pragma once

#include "templates/params.h"

namespace fa {

/// A captured gradient has a number of its own: that of its param, or kMaxParams plus that of its tensor.
constexpr int kMaxGradients = kMaxParams + kMaxTensors;

struct BackwardParams {
  /// What the forward pass was called with. Here its o and lse are read.
  ForwardParams forward;

  const void* d_o;     // the loss's gradient by o
  const float* d_lse;  // and by lse, [B, num_q_heads, q_len] contiguous; null: zero
  void* d_q;           // written, like the two below
  void* d_k;
  void* d_v;
  TensorStrides d_o_strides;
  TensorStrides d_q_strides;
  TensorStrides d_k_strides;
  TensorStrides d_v_strides;
};

}  // namespace fa
