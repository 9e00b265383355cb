// The error bounds, and the comparison of a result with them.
#include "tools/reference/error_bound.h"

#include <fmt/format.h>

#include <cmath>

namespace fa::tools {

ErrorBound error_bound(DType dtype, int head_dim, int kv_len) {
  switch (dtype) {
    // Rounding of the probabilities and of o, half a spacing each, with as much again for everything done in
    // f32.
    case DType::bf16:
      return {.epsilon = 0x1p-8, .constant = 2, .per_logit = 1, .tiny = 0x1p-120};
    // f16 probabilities below 2^-14 are off by up to 2^-25 each, whatever they are: `tiny`, for |v| of order
    // 1.
    case DType::f16:
      return {.epsilon = 0x1p-11, .constant = 2, .per_logit = 1, .tiny = kv_len * 0x1p-25};
    default:
      // Sums of head_dim products and of kv_len probabilities; exp2 and log2 are good to a few spacings.
      return {.epsilon = 0x1p-23,
              .constant = 64 + head_dim + std::sqrt(static_cast<double>(kv_len)),
              .per_logit = 16,
              .tiny = 0x1p-100};
  }
}

std::string ErrorBound::print() const {
  return fmt::format("2^{:.0f} * ({:.0f} + {:.0f} max|logit|) * sum prob |v|", std::log2(epsilon), constant,
                     per_logit);
}

std::string Comparison::print_doubt() const {
  const DoubtfulElement& at = *doubt;
  if (at.is_undefined)
    return fmt::format("the hook's file leaves its result undefined at b {}, h {}, q_idx {}, kv_idx {}",
                       at.row.b, at.row.h, at.row.q_idx, at.kv_idx);
  const std::string decision = at.line > 0 ? fmt::format("line {}, column {} compares {:.9g} with {:.9g}",
                                                         at.line, at.column, at.left, at.right)
                                           : "the hook's file decides by the score";
  return fmt::format("{} at b {}, h {}, q_idx {}, kv_idx {}", decision, at.row.b, at.row.h, at.row.q_idx,
                     at.kv_idx);
}

std::string Comparison::print_worst() const {
  const std::string where =
      worst_column < 0
          ? fmt::format("lse[{}, {}, {}]", worst_row.b, worst_row.h, worst_row.q_idx)
          : fmt::format("o[{}, {}, {}, {}]", worst_row.b, worst_row.h, worst_row.q_idx, worst_column);
  return fmt::format("{} = {:.6g}, reference {:.6g}, error {:.2e}, bound {:.2e}", where, worst_value,
                     worst_reference, std::fabs(worst_value - worst_reference), worst_bound);
}

Comparison compare(const ReferenceRows& reference, const ErrorBound& bound, const ProblemSize& size,
                   const HostTensor& o, const std::vector<float>& lse) {
  Comparison result;
  const auto width = static_cast<std::size_t>(reference.head_dim_v);
  const auto check = [&](const RowId& row, int column, double value, double expected, double allowed) {
    double error = std::fabs(value - expected);
    if (value == expected || (std::isnan(value) && std::isnan(expected))) error = 0;  // equal infinities too
    double share = error / allowed;
    if (error == 0) share = 0;
    if (std::isnan(share)) share = error = ReferenceRows::kInfinity;
    double& largest = column < 0 ? result.max_lse_error : result.max_error;
    largest = std::max(largest, error);
    if (share > result.worst || (result.worst_bound == 0 && share == result.worst)) {
      result.worst = share;
      result.worst_row = row;
      result.worst_column = column;
      result.worst_value = value;
      result.worst_reference = expected;
      result.worst_bound = allowed;
    }
  };

  for (std::size_t i = 0; i < reference.rows.size(); ++i) {
    const RowId& row = reference.rows[i];
    const std::int64_t flat = (std::int64_t{row.b} * size.num_q_heads + row.h) * size.q_len + row.q_idx;
    if (reference.doubts[i]) {
      ++result.doubtful_rows;
      if (!result.doubt) result.doubt = reference.doubts[i];
      continue;
    }
    ++result.rows;
    const bool empty = reference.is_empty(i);
    if (empty) ++result.empty_rows;
    for (std::size_t d = 0; d < width; ++d) {
      const double value = o.get(flat * reference.head_dim_v + static_cast<std::int64_t>(d));
      if (std::isnan(value) && !std::isnan(reference.o[i * width + d]) &&
          reference.may_be_nan[i * width + d] != 0) {
        ++result.odd_elements;
        continue;
      }
      // An empty row is exactly 0: its sum of prob |v| is 0, and no tiny error is allowed either.
      const double allowed = empty ? 0
                                   : bound.of_o(reference.max_logit[i], reference.magnitude[i * width + d],
                                                reference.hook_o[i * width + d]);
      check(row, static_cast<int>(d), value, reference.o[i * width + d], allowed);
    }
    if (!lse.empty()) {
      const bool is_nothing =
          reference.lse[i] == -ReferenceRows::kInfinity;  // of an empty row without a sink
      check(row, -1, lse[static_cast<std::size_t>(flat)], reference.lse[i],
            is_nothing ? 0 : bound.of_lse(reference.max_logit[i], reference.hook_lse[i]));
    }
  }
  return result;
}

}  // namespace fa::tools
