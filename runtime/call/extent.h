// The value of a tensor's extent for one call: the language's arithmetic on the call's sizes and params. It
// runs in every forward, so it allocates nothing.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/spec/expr.h"
#include "fa/spec.h"

namespace fa {

/// The sizes a call's tensors agree on.
struct CallExtents {
  int batch = 0;
  int num_q_heads = 0;
  int num_kv_heads = 0;
  int group_size = 0;
  int q_len = 0;
  int kv_len = 0;
  int head_dim = 0;
};

/// Evaluates an i32 expression without element names or reads, as the checker leaves extents.
std::int32_t evaluate_extent(const Expr& expr, const CallExtents& size, std::span<const Scalar> params);

}  // namespace fa
