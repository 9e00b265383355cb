// How far a kernel's result may be from the fp64 reference, and whether it is. Derivation: docs/numerics.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/host_tensor.h"
#include "tools/reference.h"

namespace fa::tools {

/// |o - o_ref| <= epsilon * (constant + per_logit * max |logit of the row|) * sum_j prob_j |v_j| + tiny
/// |lse - lse_ref| <= epsilon * (constant + per_logit * max |logit of the row|)
struct ErrorBound {
  double epsilon = 0;  // 2^-8 bf16, 2^-11 f16, 2^-23 f32
  double constant = 0;
  double per_logit = 0;
  double tiny = 0;  // below this the storage type has no relative precision left

  double relative(double max_logit) const { return epsilon * (constant + per_logit * max_logit); }
  std::string print() const;  // "2^-8 * (2 + max|logit|) * sum prob |v|"
};

ErrorBound error_bound(DType dtype, int head_dim, int kv_len);

/// A result held against the reference.
struct Comparison {
  std::int64_t rows = 0;
  double max_error = 0;  // largest |o - o_ref|
  double max_lse_error = 0;
  double worst = 0;  // largest error as a share of its bound, over o and lse; NaN counts as infinite
  RowId worst_row;
  int worst_column = -1;  // -1: lse
  double worst_value = 0, worst_reference = 0, worst_bound = 0;
  std::int64_t empty_rows = 0;

  bool holds() const { return worst <= 1; }
  std::string print_worst() const;  // "o[0, 1, 22, 3] = 0.125, reference 0.1252, error 2.1e-4, bound 3.2e-3"
};

/// `o` is [batch, heads, q_len, head_dim_v], contiguous; `lse` [batch, heads, q_len], or empty to leave it
/// out.
Comparison compare(const ReferenceRows& reference, const ErrorBound& bound, const ProblemSize& size,
                   const HostTensor& o, const std::vector<float>& lse);

}  // namespace fa::tools
