// Reverse mode over a hook's expression: one walk from the result back to what it is computed from gives the
// derivative by all of it. Every node is visited once, so the derivative is about as long as the hook.
#pragma once

#include <map>
#include <vector>

#include "compiler/derive/algebra.h"
#include "compiler/spec/spec.h"

namespace fa {

/// The gradient that one read of a captured tensor gets.
struct ReadGradient {
  ExprPtr read;
  ExprPtr value;
  std::vector<const Expr*> loops;  // the reductions around it, outermost first: one gradient an iteration
};

/// Derivatives of a hook's result; null: zero.
struct Gradients {
  ExprPtr score;
  std::map<int, ExprPtr> params;  // those marked `grad`
  std::vector<ReadGradient> reads;
};

/// `algebra` keeps what is made; it must outlive nothing but the call.
Gradients differentiate(const CheckedSpec& spec, const ExprPtr& hook, Algebra& algebra);

}  // namespace fa
