#include "compiler/derive/algebra.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/spec/check/fold.h"

namespace fa {
namespace {

bool is_number(const Expr& expr) { return expr.kind == ExprKind::literal && expr.type == Type::f32; }

bool is_operation(const Expr& expr, Op op) {
  const bool is_operator = expr.kind == ExprKind::unary || expr.kind == ExprKind::binary;
  return is_operator && expr.op == op && expr.type == Type::f32;
}

/// A `where` with a literal zero in an arm: the arm of `guarded` holds the other one.
bool is_guard(const Expr& expr) {
  return expr.kind == ExprKind::where && expr.type == Type::f32 &&
         (is_number(expr.args[1], 0) || is_number(expr.args[2], 0));
}

ExprPtr arm(const Expr& guard, std::size_t at) {
  return is_number(guard.args[at], 0) ? nullptr : guard.args[at];
}

/// Whether two literals may become one: not where that leaves the range of f32.
bool is_tame(double value) {
  const double magnitude = std::fabs(value);
  return magnitude > 1e-30 && magnitude < 1e30;
}

/// literal * something, which is how products with literals are kept.
bool has_literal_factor(const Expr& expr) { return is_operation(expr, Op::mul) && is_number(*expr.args[0]); }

/// Whether both are one node, or the same param: every mention of a param is a node of its own.
bool is_same(const Expr& a, const Expr& b) {
  return &a == &b || (a.kind == ExprKind::param && b.kind == ExprKind::param && a.index == b.index);
}

}  // namespace

bool is_number(const ExprPtr& expr, double value) {
  return expr && is_number(*expr) && expr->float_value == value;
}

ExprPtr Algebra::make(Expr expr) {
  made_.push_back(fold(std::move(expr)));
  return made_.back();
}

ExprPtr Algebra::number(double value) { return make_float(value); }

ExprPtr Algebra::integer(int value) { return make_int(value); }

ExprPtr Algebra::add(ExprPtr a, ExprPtr b) {
  if (!a || is_number(a, 0)) return b;
  if (!b || is_number(b, 0)) return a;
  if (is_guard(*a) && is_guard(*b) && a->args[0] == b->args[0])
    return choose(a->args[0], add(arm(*a, 1), arm(*b, 1)), add(arm(*a, 2), arm(*b, 2)));
  if (is_operation(*b, Op::neg))
    return make({.kind = ExprKind::binary, .type = Type::f32, .op = Op::sub, .args = {a, b->args[0]}});
  return make({.kind = ExprKind::binary, .type = Type::f32, .op = Op::add, .args = {a, b}});
}

ExprPtr Algebra::negate(ExprPtr x) {
  if (!x) return nullptr;
  if (is_operation(*x, Op::neg)) return x->args[0];
  if (is_guard(*x)) return choose(x->args[0], negate(arm(*x, 1)), negate(arm(*x, 2)));
  if (has_literal_factor(*x)) return multiply(number(-x->args[0]->float_value), x->args[1]);
  return make({.kind = ExprKind::unary, .type = Type::f32, .op = Op::neg, .args = {x}});
}

ExprPtr Algebra::multiply(ExprPtr a, ExprPtr b) {
  if (!a || !b || is_number(a, 0) || is_number(b, 0)) return nullptr;
  if (is_number(*b)) std::swap(a, b);
  if (is_number(a, 1)) return b;
  if (is_number(a, -1)) return negate(b);
  if (is_guard(*a)) return choose(a->args[0], multiply(arm(*a, 1), b), multiply(arm(*a, 2), b));
  if (is_guard(*b)) return choose(b->args[0], multiply(a, arm(*b, 1)), multiply(a, arm(*b, 2)));
  if (is_operation(*a, Op::neg)) return negate(multiply(a->args[0], b));
  if (is_operation(*b, Op::neg)) return negate(multiply(a, b->args[0]));
  if (has_literal_factor(*b)) {
    if (!is_number(*a)) return multiply(b->args[0], multiply(a, b->args[1]));
    const double factor = a->float_value * b->args[0]->float_value;
    if (is_tame(factor)) return multiply(number(factor), b->args[1]);
  } else if (has_literal_factor(*a)) {
    return multiply(a->args[0], multiply(a->args[1], b));
  }
  return make({.kind = ExprKind::binary, .type = Type::f32, .op = Op::mul, .args = {a, b}});
}

ExprPtr Algebra::divide(ExprPtr a, const ExprPtr& b) {
  if (!a) return nullptr;
  if (is_number(b, 1)) return a;
  if (is_guard(*a)) return choose(a->args[0], divide(arm(*a, 1), b), divide(arm(*a, 2), b));
  if (is_operation(*a, Op::neg)) return negate(divide(a->args[0], b));
  if (is_operation(*a, Op::mul))  // cap * (1 - t * t) / cap
    for (std::size_t i = 0; i < 2; ++i)
      if (is_same(*a->args[i], *b)) return a->args[1 - i];
  if (is_number(*b)) {
    const double factor = (has_literal_factor(*a) ? a->args[0]->float_value : 1) / b->float_value;
    if (is_tame(factor) && !is_number(*a))
      return multiply(number(factor), has_literal_factor(*a) ? a->args[1] : a);
  } else if (has_literal_factor(*a)) {
    return multiply(a->args[0], divide(a->args[1], b));
  }
  return make({.kind = ExprKind::binary, .type = Type::f32, .op = Op::div, .args = {a, b}});
}

ExprPtr Algebra::call(Func func, std::initializer_list<ExprPtr> args) {
  return make({.kind = ExprKind::call, .type = (*args.begin())->type, .func = func, .args = args});
}

ExprPtr Algebra::last(const ExprPtr& extent) {
  return make({.kind = ExprKind::binary, .type = Type::i32, .op = Op::sub, .args = {extent, integer(1)}});
}

ExprPtr Algebra::compare(Op op, const ExprPtr& a, const ExprPtr& b) {
  return make({.kind = ExprKind::binary, .type = Type::boolean, .op = op, .args = {a, b}});
}

ExprPtr Algebra::choose(const ExprPtr& condition, const ExprPtr& x, const ExprPtr& y) {
  if (x == y) return x;
  const ExprPtr zero = number(0);
  const ExprPtr then = x ? x : zero, otherwise = y ? y : zero;
  if (is_number(*then) && is_number(otherwise, then->float_value)) return is_number(then, 0) ? nullptr : x;
  const ExprPtr made =
      make({.kind = ExprKind::where, .type = then->type, .args = {condition, then, otherwise}});
  return is_number(made, 0) ? nullptr : made;  // a literal condition chose the zero
}

ExprPtr Algebra::loop_index(const Expr& reduce) {
  return make({.kind = ExprKind::loop_var, .type = Type::i32, .index = reduce.index});
}

ExprPtr Algebra::over_iterations(const Expr& reduce, Reduction kind, ExprPtr body) {
  Expr result{.kind = ExprKind::reduce,
              .type = body->type,
              .reduction = kind,
              .index = reduce.index,
              .count = reduce.count,
              .args = {body},
              .line = reduce.line,
              .column = reduce.column};
  result.args.insert(result.args.end(), reduce.args.begin() + 1, reduce.args.end());  // a run-time range
  return make(std::move(result));
}

ExprPtr Algebra::renamed(const ExprPtr& expr, int loop, int other,
                         std::unordered_map<const Expr*, ExprPtr>& known) {
  if (!depends_on_loop(*expr, loop)) return expr;
  if (const auto found = known.find(expr.get()); found != known.end()) return found->second;
  Expr copy = *expr;
  if (copy.kind == ExprKind::loop_var) copy.index = other;
  for (ExprPtr& arg : copy.args) arg = renamed(arg, loop, other, known);
  return known[expr.get()] = make(std::move(copy));
}

ExprPtr Algebra::copy_of(const Expr& reduce) {
  Expr copy = reduce;
  copy.index = next_loop_++;
  std::unordered_map<const Expr*, ExprPtr> known;
  copy.args[0] = renamed(copy.args[0], reduce.index, copy.index, known);
  return make(std::move(copy));
}

ExprPtr Algebra::sum_over(const Expr& reduce, const ExprPtr& x) {
  if (!x) return nullptr;
  if (depends_on_loop(*x, reduce.index)) return over_iterations(reduce, Reduction::sum, x);
  if (reduce.args.size() < 2) return multiply(number(reduce.count), x);
  const ExprPtr steps = call(Func::clamp, {reduce.args[1], integer(0), integer(reduce.count)});
  return multiply(make({.kind = ExprKind::cast, .type = Type::f32, .args = {steps}}), x);
}

bool Algebra::depends_on_loop(const Expr& expr, int loop) {
  const std::vector<int>& ids = free_loops_.of(expr);
  return std::find(ids.begin(), ids.end(), loop) != ids.end();
}

}  // namespace fa
