// How far a kernel's result may be from the fp64 reference, and the check that it is not farther. Derivation:
// docs/numerics.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/problem/host_tensor.h"
#include "tools/reference/reference.h"

namespace fa::tools {

/// |o - o_ref| <= epsilon * (constant + per_logit * max |logit of the row|) * sum_j prob_j |v_j| + tiny
/// |lse - lse_ref| <= epsilon * (constant + per_logit * max |logit of the row|)
/// and where score_mod makes more of its own roundings than `per_logit` allows for, that much more
/// (ReferenceRows::hook_o, hook_lse).
struct ErrorBound {
  double epsilon = 0;  // 2^-8 bf16, 2^-11 f16, 2^-23 f32
  double constant = 0;
  double per_logit = 0;
  double tiny = 0;  // below this the storage type has no relative precision left

  double relative(double max_logit) const { return epsilon * (constant + per_logit * max_logit); }
  /// The bound for a row whose largest |logit| is `max_logit`; `hook` is the effect of score_mod's errors.
  double of_o(double max_logit, double magnitude, double hook) const {
    return std::max(relative(max_logit) * magnitude, relative(0) * magnitude + hook) + tiny;
  }
  double of_lse(double max_logit, double hook) const {
    return std::max(relative(max_logit), relative(0) + hook);
  }
  std::string print() const;  // "2^-8 * (2 + max|logit|) * sum prob |v|"
};

ErrorBound error_bound(DType dtype, int head_dim, int kv_len);

/// A result compared with the reference.
struct Comparison {
  std::int64_t rows = 0;           // compared
  std::int64_t doubtful_rows = 0;  // not compared: correct targets may decide an element of them otherwise
  std::optional<DoubtfulElement> doubt;  // the first of those
  double max_error = 0;                  // largest |o - o_ref|
  double max_lse_error = 0;
  double worst = 0;  // largest error as a share of its bound, over o and lse; NaN counts as infinite
  RowId worst_row;
  int worst_column = -1;  // -1: lse
  double worst_value = 0, worst_reference = 0, worst_bound = 0;
  std::int64_t empty_rows = 0;
  std::int64_t odd_elements = 0;  // NaN, as 0 * NaN of v is: not compared

  bool holds() const { return worst <= 1; }
  std::string print_doubt() const;
  std::string print_worst() const;  // "o[0, 1, 22, 3] = 0.125, reference 0.1252, error 2.1e-4, bound 3.2e-3"
};

/// `o` is [batch, heads, q_len, head_dim_v], contiguous; `lse` [batch, heads, q_len], or empty to leave it
/// out.
Comparison compare(const ReferenceRows& reference, const ErrorBound& bound, const ProblemSize& size,
                   const HostTensor& o, const std::vector<float>& lse);

}  // namespace fa::tools
