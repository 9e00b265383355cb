// What a kernel's backward pass is called with.
#pragma once

#include <string_view>
#include <vector>

#include "fa/export.h"
#include "fa/kernel.h"

namespace fa FA_API {

/// Where the gradient of a param or captured tensor goes that the spec marks `grad`: f32, whatever the
/// tensor's own type; of a tensor row-major in its shape, of a param one number.
struct CapturedGradient {
  std::string_view name;
  float* data = nullptr;
};

/// Arguments of one backward call. What it writes shares no memory with anything else here.
struct BackwardArgs {
  /// The call of `forward`, with the o and lse that it wrote; lse must be there. All of it is only read. Its
  /// workspace is not used.
  ForwardArgs forward;
  Tensor d_o;                    // [B, num_q_heads, q_len, head_dim_v], the loss's gradient by o
  const float* d_lse = nullptr;  // [B, num_q_heads, q_len], its gradient by lse; null: zero
  Tensor d_q;                    // like q, written
  Tensor d_k;                    // like k, written; the heads of a group are added up
  Tensor d_v;                    // like v, written
  std::vector<CapturedGradient> gradients = {};  // one for everything marked `grad`, in any order
  void* workspace =
      nullptr;  // of Kernel::backward_workspace_bytes(args), 16-byte aligned; null where that is 0
  std::size_t workspace_bytes = 0;
};

}  // namespace fa FA_API
