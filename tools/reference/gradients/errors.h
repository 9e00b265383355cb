// How far a kernel's gradients may be from the fp64 reference's. Rounding errors of different terms of a
// sum are random and add up as their squares do; those that are the same for many terms, such as a hook's
// own, add up as they are. Derivation: docs/numerics.md.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/reference/backward.h"

namespace fa::tools {

/// Of one term of a sum.
struct TermError {
  double random = 0, linear = 0;

  /// Of the term times `factor`, which may be off by `factor_error`: no more than `base` of it is a rounding.
  TermError times(double term, double factor, double factor_error, double base) const;
};

/// Of a row's probabilities, relatively.
class RowError {
 public:
  RowError() = default;
  RowError(const ErrorBound& bound, double max_logit, double mean_hook_error)
      : base_(bound.relative(0)), whole_(bound.relative(max_logit)), mean_(mean_hook_error) {}

  /// `hook_error`: of the logit, by score_mod's own roundings. It counts apart where it is more than the
  /// bound's share for logits.
  TermError of(double hook_error) const {
    const double both = hook_error + mean_;
    return both > whole_ - base_ ? TermError{base_, both} : TermError{whole_, 0};
  }
  double base() const { return base_; }
  double whole() const { return whole_; }

 private:
  double base_ = 0, whole_ = 0, mean_ = 0;
};

/// The errors of a gradient's elements so far.
class ElementErrors {
 public:
  explicit ElementErrors(std::size_t elements = 0) : squares_(elements), linear_(elements) {}

  /// To `n` elements from `at` on: the error of a factor of `terms`.
  void add(std::int64_t at, const TermError& error, const double* terms, int n);
  /// To one element, of a term whose errors within a row add up as they are, until end_row.
  void add_in_row(std::size_t element, const TermError& error);
  void end_row();
  void add(const ElementErrors& other);

  /// `rounding`: that of the result, relatively.
  std::vector<double> allowed(const std::vector<double>& reference, double rounding) const;

 private:
  std::vector<double> squares_, linear_;
  std::vector<double> in_row_;        // by element, where some were touched
  std::vector<std::size_t> touched_;  // in this row
};

struct GradientErrors {
  ElementErrors q, k, v, params;
  std::vector<ElementErrors> tensors;

  GradientErrors() = default;
  explicit GradientErrors(const InputGradients& like);
  void end_row();
  void add(const GradientErrors& other);
  InputGradients allowed(const InputGradients& reference, const ErrorBound& bound) const;
};

}  // namespace fa::tools
