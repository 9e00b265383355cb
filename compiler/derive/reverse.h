// Reverse mode over a hook's expression: one walk from the result back to what it is computed from gives the
// derivative by all of it. Every node is visited once, so the derivative is about as long as the hook.
#pragma once

#include <map>
#include <string>
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

/// Refuses what would be too long: derivatives that "take more than 7 operations".
[[noreturn]] void throw_too_long(const CheckedSpec& spec, int line, int column, const std::string& what);

/// Throws SpecError where the derivatives would be too long. `algebra` knows the nodes of the hook by their
/// addresses.
Gradients differentiate(const CheckedSpec& spec, const ExprPtr& hook, Algebra& algebra);

}  // namespace fa
