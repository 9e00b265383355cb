// What each operation of the language gives on: the derivative by each of its arguments.
#pragma once

#include <vector>

#include "compiler/derive/algebra.h"

namespace fa {

/// One argument's share of a gradient.
struct Share {
  ExprPtr arg;
  ExprPtr gradient;
};

/// The gradient of what `node` computes, passed on to its differentiable arguments, each as often as it
/// stands there. `node` is no leaf and no reduction. Uses the value of `node` itself where the derivative
/// is made of it: tanh, sigmoid, exp, sqrt, a quotient, a power.
std::vector<Share> shares_of(const ExprPtr& node, const ExprPtr& gradient, Algebra& algebra);

}  // namespace fa
