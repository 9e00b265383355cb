// Makes the expressions of derivatives, each in the simplest form that is seen at once: a factor of one, a
// term of zero and a double negation leave nothing behind. That is what makes an additive score cost nothing.
//
// A gradient of zero is a null pointer. A gradient that holds under a condition alone, `where(condition, x,
// 0)`, is a *guard*: it keeps its zero outside. A factor goes into the arm, so that an infinite derivative of
// the arm that was not taken (log at 0) never meets the zero and makes no NaN. A guard inside of a guard
// becomes one guard, whose condition is both.
//
// Nothing here looks deeper than a few levels, so that each call makes a few nodes, however long the hook is.
#pragma once

#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "compiler/derive/equal.h"
#include "compiler/ir/lower/free_loops.h"
#include "compiler/spec/expr.h"

namespace fa {

class Algebra {
 public:
  Algebra() = default;
  Algebra(const Algebra&) = delete;
  Algebra& operator=(const Algebra&) = delete;
  ~Algebra();

  /// `hook` with what it says twice as one node.
  ExprPtr unified(const ExprPtr& hook) { return equals_.unified(hook); }

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

  /// Whether their sum is as short as each: numbers, or guards whose conditions differ in no more than that
  /// the last one holds.
  bool makes_one_term(const ExprPtr& a, const ExprPtr& b) const;

  bool depends_on_loop(const Expr& expr, int loop);
  /// How many nodes were made, and how deep they nest above those of the spec.
  std::size_t num_made() const { return made_.size(); }
  int deepest() const { return deepest_; }

 private:
  /// `value` where `outer` (null: always) holds and `last` does, or does not; else zero.
  struct Guard {
    ExprPtr outer, last;
    bool holds = true;
    ExprPtr value;
  };

  ExprPtr make(Expr expr);
  const Guard* guard_of(const ExprPtr& expr) const;
  ExprPtr guarded(const Guard& guard);
  ExprPtr guarded_by(const ExprPtr& condition, const ExprPtr& value);
  ExprPtr with_value(const Guard& guard, const ExprPtr& value);
  ExprPtr conjunction(const ExprPtr& outer, const ExprPtr& last, bool holds);

  Equals equals_;
  std::vector<ExprPtr> made_;  // nodes are known by their addresses: none is freed before the algebra
  std::unordered_map<const Expr*, int> depths_;
  int deepest_ = 0;
  std::unordered_map<const Expr*, Guard> guards_;
  std::map<std::tuple<const Expr*, const Expr*, bool>, ExprPtr> conjunctions_;
  std::unordered_map<const Expr*, Guard> conditions_;  // what a conjunction is made of; no value
  FreeLoops free_loops_;
  int next_loop_ = 1 << 20;  // above the ids of a spec's own reductions
};

/// Whether the expression is the literal `value`.
bool is_number(const ExprPtr& expr, double value);

/// A sum of any length, added up as a tree: it nests as deep as the logarithm of its length.
class Sum {
 public:
  void add(const ExprPtr& term, Algebra& algebra);
  /// Null: zero.
  ExprPtr total(Algebra& algebra) const;

 private:
  std::vector<ExprPtr> terms_;
};

}  // namespace fa
