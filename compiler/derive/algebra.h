// Makes the expressions of derivatives, each in the simplest form that is seen at once: a factor of one, a
// term of zero and a double negation leave nothing behind. That is what makes an additive score cost nothing.
//
// A gradient of zero is a null pointer. `where(condition, x, 0)` keeps its zero outside: a factor goes into
// the arm, so that an infinite derivative of the arm that was not taken (log at 0) never meets the zero and
// makes no NaN.
#pragma once

#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "compiler/ir/lower/free_loops.h"
#include "compiler/spec/expr.h"

namespace fa {

class Algebra {
 public:
  ExprPtr number(double value);
  ExprPtr integer(int value);
  ExprPtr add(ExprPtr a, ExprPtr b);
  ExprPtr negate(ExprPtr x);
  ExprPtr subtract(ExprPtr a, ExprPtr b) { return add(std::move(a), negate(std::move(b))); }
  ExprPtr multiply(ExprPtr a, ExprPtr b);
  ExprPtr divide(ExprPtr a, const ExprPtr& b);
  ExprPtr call(Func func, std::initializer_list<ExprPtr> args);
  /// extent - 1
  ExprPtr last(const ExprPtr& extent);
  /// A condition: two f32s or two i32s compared.
  ExprPtr compare(Op op, const ExprPtr& a, const ExprPtr& b);
  /// x where the condition holds, else y; either may be zero (null).
  ExprPtr choose(const ExprPtr& condition, const ExprPtr& x, const ExprPtr& y);
  /// The index of the reduction.
  ExprPtr loop_index(const Expr& reduce);
  /// Another reduction over the iterations of `reduce`.
  ExprPtr over_iterations(const Expr& reduce, Reduction kind, ExprPtr body);
  /// `reduce` once more, with an index of its own: nothing else in an expression depends on that.
  ExprPtr copy_of(const Expr& reduce);
  /// `x` added up over the iterations of `reduce`.
  ExprPtr sum_over(const Expr& reduce, const ExprPtr& x);

  bool depends_on_loop(const Expr& expr, int loop);

 private:
  ExprPtr make(Expr expr);
  ExprPtr renamed(const ExprPtr& expr, int loop, int other, std::unordered_map<const Expr*, ExprPtr>& known);

  std::vector<ExprPtr> made_;  // FreeLoops knows nodes by their address: none is freed before it
  FreeLoops free_loops_;
  int next_loop_ = 1 << 20;  // above the ids of a spec's own reductions
};

/// Whether the expression is the literal `value`.
bool is_number(const ExprPtr& expr, double value);

}  // namespace fa
