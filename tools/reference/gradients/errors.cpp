#include "tools/reference/gradients/errors.h"

#include <algorithm>
#include <cmath>

namespace fa::tools {

ErrorBound gradient_bound(const Problem& problem) {
  const ProblemSize& size = problem.size;
  const int terms = std::max(size.kv_len, size.q_len * (size.num_q_heads / size.num_kv_heads));
  const int head_dim = std::max(problem.spec.head_dim(), problem.spec.head_dim_v());
  ErrorBound bound = error_bound(problem.spec.dtype(), head_dim, terms);
  // Errors that add up as random ones do, and the largest of a million of those.
  if (problem.spec.dtype() != DType::f32) bound.constant *= 2;
  return bound;
}

TermError TermError::times(double term, double factor, double factor_error, double base) const {
  const double excess = factor_error > base * std::fabs(factor) ? factor_error * std::fabs(term) : 0;
  return {random * std::fabs(factor), linear * std::fabs(factor) + excess};
}

void ElementErrors::add(std::int64_t at, const TermError& error, const double* terms, int n) {
  double* const squares = squares_.data() + at;
  double* const linear = linear_.data() + at;
  for (int i = 0; i < n; ++i) {
    const double random = error.random * terms[i];
    squares[i] += random * random;
    linear[i] += error.linear * std::fabs(terms[i]);
  }
}

void ElementErrors::add_in_row(std::size_t element, const TermError& error) {
  linear_[element] += error.linear;
  if (in_row_.empty()) in_row_.resize(linear_.size());
  if (in_row_[element] == 0) touched_.push_back(element);
  in_row_[element] += error.random;
}

void ElementErrors::end_row() {
  for (const std::size_t element : touched_) {
    squares_[element] += in_row_[element] * in_row_[element];
    in_row_[element] = 0;
  }
  touched_.clear();
}

void ElementErrors::add(const ElementErrors& other) {
  for (std::size_t i = 0; i < squares_.size(); ++i) {
    squares_[i] += other.squares_[i];
    linear_[i] += other.linear_[i];
  }
}

std::vector<double> ElementErrors::allowed(const std::vector<double>& reference, double rounding) const {
  std::vector<double> result(squares_.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = std::sqrt(squares_[i]) + linear_[i] + rounding * std::fabs(reference[i]);
  return result;
}

GradientErrors::GradientErrors(const InputGradients& like)
    : q(like.q.size()), k(like.k.size()), v(like.v.size()), params(like.params.size()) {
  for (const std::vector<double>& tensor : like.tensors) tensors.emplace_back(tensor.size());
}

void GradientErrors::end_row() {
  params.end_row();
  for (ElementErrors& tensor : tensors) tensor.end_row();
}

void GradientErrors::add(const GradientErrors& other) {
  q.add(other.q);
  k.add(other.k);
  v.add(other.v);
  params.add(other.params);
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].add(other.tensors[i]);
}

InputGradients GradientErrors::allowed(const InputGradients& reference, const ErrorBound& bound) const {
  // The result's own rounding; in f32 also what is the same for all terms, such as the error of 2^x.
  const double rounding = bound.epsilon > 0x1p-20 ? bound.epsilon : 16 * bound.epsilon;
  InputGradients result{.q = q.allowed(reference.q, rounding),
                        .k = k.allowed(reference.k, rounding),
                        .v = v.allowed(reference.v, rounding),
                        .params = params.allowed(reference.params, rounding),
                        .tensors = {}};
  for (std::size_t i = 0; i < tensors.size(); ++i)
    result.tensors.push_back(tensors[i].allowed(reference.tensors[i], rounding));
  return result;
}

}  // namespace fa::tools
