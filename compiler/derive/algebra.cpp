#include "compiler/derive/algebra.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/spec/check/fold.h"
#include "compiler/spec/walk.h"

namespace fa {
namespace {

bool is_number(const Expr& expr) { return expr.kind == ExprKind::literal && expr.type == Type::f32; }

bool is_operation(const Expr& expr, Op op) {
  const bool is_operator = expr.kind == ExprKind::unary || expr.kind == ExprKind::binary;
  return is_operator && expr.op == op && expr.type == Type::f32;
}

/// Whether two literals may become one: not where that leaves the range of f32.
bool is_tame(double value) {
  const double magnitude = std::fabs(value);
  return magnitude > 1e-30 && magnitude < 1e30;
}

bool is_scaled(const Expr& expr) { return is_operation(expr, Op::mul) && is_number(*expr.args[0]); }

/// Neither a negation nor a product with a literal.
bool is_plain(const Expr& expr) { return !is_operation(expr, Op::neg) && !is_scaled(expr); }

/// -x and literal * x with a plain x are how negations and products with literals are kept. A spec may have
/// longer chains of them: those stay as they are, since others may use their parts.
bool is_negation(const Expr& expr) { return is_operation(expr, Op::neg) && is_plain(*expr.args[0]); }
bool has_literal_factor(const Expr& expr) { return is_scaled(expr) && is_plain(*expr.args[1]); }

}  // namespace

bool is_number(const ExprPtr& expr, double value) {
  return expr && is_number(*expr) && expr->float_value == value;
}

/// Users before their operands: each node is freed on its own, not by the last of its users.
Algebra::~Algebra() {
  guards_.clear();
  conditions_.clear();
  conjunctions_.clear();
  while (!made_.empty()) made_.pop_back();
}

ExprPtr Algebra::make(Expr expr) {
  int depth = 0;
  for (const ExprPtr& arg : expr.args)
    if (const auto found = depths_.find(arg.get()); found != depths_.end())
      depth = std::max(depth, found->second);
  made_.push_back(fold(std::move(expr)));
  const auto [at, is_new] = depths_.try_emplace(made_.back().get(), depth + 1);
  deepest_ = std::max(deepest_, at->second);
  return made_.back();
}

const Algebra::Guard* Algebra::guard_of(const ExprPtr& expr) const {
  const auto found = guards_.find(expr.get());
  return found == guards_.end() ? nullptr : &found->second;
}

/// Both conditions; without `outer` the last one, or its opposite.
ExprPtr Algebra::conjunction(const ExprPtr& outer, const ExprPtr& last, bool holds) {
  if (!outer && holds) return last;
  ExprPtr& known = conjunctions_[{outer.get(), last.get(), holds}];
  if (known) return known;
  if (!outer) {
    known = make({.kind = ExprKind::unary, .type = Type::boolean, .op = Op::logical_not, .args = {last}});
  } else {
    const ExprPtr second = conjunction(nullptr, last, holds);
    known = make(
        {.kind = ExprKind::binary, .type = Type::boolean, .op = Op::logical_and, .args = {outer, second}});
  }
  conditions_[known.get()] = {.outer = outer, .last = last, .holds = holds, .value = nullptr};
  return known;
}

ExprPtr Algebra::guarded(const Guard& guard) {
  if (!guard.value || is_number(guard.value, 0)) return nullptr;
  if (const Guard* found = guard_of(guard.value)) {  // its condition first, then this one
    const Guard inner = *found;
    const ExprPtr first = conjunction(inner.outer, inner.last, inner.holds);
    if (!guard.outer)
      return guarded({.outer = first, .last = guard.last, .holds = guard.holds, .value = inner.value});
    const ExprPtr second = conjunction(guard.outer, guard.last, guard.holds);
    return guarded({.outer = first, .last = second, .holds = true, .value = inner.value});
  }
  const ExprPtr zero = number(0);
  const bool is_else = !guard.outer && !guard.holds;
  const ExprPtr condition = is_else ? guard.last : conjunction(guard.outer, guard.last, guard.holds);
  const ExprPtr made =
      make({.kind = ExprKind::where,
            .type = Type::f32,
            .args = {condition, is_else ? zero : guard.value, is_else ? guard.value : zero}});
  guards_[made.get()] = guard;
  return made;
}

/// `value` where `condition` (null: always) holds, else zero.
ExprPtr Algebra::guarded_by(const ExprPtr& condition, const ExprPtr& value) {
  if (!condition || !value) return value;
  Guard guard{.outer = nullptr, .last = condition, .holds = true, .value = value};
  if (const auto found = conditions_.find(condition.get()); found != conditions_.end()) {
    guard = found->second;
    guard.value = value;
  }
  return guarded(guard);
}

ExprPtr Algebra::with_value(const Guard& guard, const ExprPtr& value) {
  return guarded({.outer = guard.outer, .last = guard.last, .holds = guard.holds, .value = value});
}

bool Algebra::makes_one_term(const ExprPtr& a, const ExprPtr& b) const {
  const Guard *of_a = guard_of(a), *of_b = guard_of(b);
  if (of_a != nullptr && of_b != nullptr) return of_a->outer == of_b->outer && of_a->last == of_b->last;
  return is_number(*a) && is_number(*b);
}

ExprPtr Algebra::number(double value) { return made_.emplace_back(make_float(value)); }

ExprPtr Algebra::integer(int value) { return made_.emplace_back(make_int(value)); }

ExprPtr Algebra::add(ExprPtr a, ExprPtr b) {
  if (!a || is_number(a, 0)) return b;
  if (!b || is_number(b, 0)) return a;
  if (guard_of(a) != nullptr && makes_one_term(a, b)) {
    const Guard of_a = *guard_of(a), of_b = *guard_of(b);
    const auto arms = [&](bool holds) {
      return add(of_a.holds == holds ? of_a.value : nullptr, of_b.holds == holds ? of_b.value : nullptr);
    };
    return guarded_by(of_a.outer, choose(of_a.last, arms(true), arms(false)));
  }
  if (is_operation(*b, Op::neg))
    return make({.kind = ExprKind::binary, .type = Type::f32, .op = Op::sub, .args = {a, b->args[0]}});
  return make({.kind = ExprKind::binary, .type = Type::f32, .op = Op::add, .args = {a, b}});
}

ExprPtr Algebra::negate(ExprPtr x) {
  if (!x) return nullptr;
  if (is_operation(*x, Op::neg)) return x->args[0];
  if (const Guard* guard = guard_of(x)) {
    const Guard known = *guard;
    return with_value(known, negate(known.value));
  }
  if (has_literal_factor(*x)) return multiply(number(-x->args[0]->float_value), x->args[1]);
  return make({.kind = ExprKind::unary, .type = Type::f32, .op = Op::neg, .args = {x}});
}

ExprPtr Algebra::multiply(ExprPtr a, ExprPtr b) {
  if (!a || !b || is_number(a, 0) || is_number(b, 0)) return nullptr;
  if (is_number(*b)) std::swap(a, b);
  if (is_number(a, 1)) return b;
  if (is_number(a, -1)) return negate(b);
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (const Guard* guard = guard_of(x)) {
      const Guard known = *guard;
      return with_value(known, multiply(known.value, y));
    }
  if (is_negation(*a)) return negate(multiply(a->args[0], b));
  if (is_negation(*b)) return negate(multiply(a, b->args[0]));
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
  if (const Guard* guard = guard_of(a)) {
    const Guard known = *guard;
    return with_value(known, divide(known.value, b));
  }
  if (is_negation(*a)) return negate(divide(a->args[0], b));
  if (is_operation(*a, Op::mul))  // cap * (1 - t * t) / cap
    for (std::size_t i = 0; i < 2; ++i)
      if (a->args[i] == b) return a->args[1 - i];
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
  if (is_literal(*condition)) return condition->int_value != 0 ? x : y;
  if (x && y && is_number(*x) && is_number(y, x->float_value)) return x;
  if (!x || is_number(x, 0))
    return guarded({.outer = nullptr, .last = condition, .holds = false, .value = y});
  if (!y || is_number(y, 0)) return guarded({.outer = nullptr, .last = condition, .holds = true, .value = x});
  return make({.kind = ExprKind::where, .type = x->type, .args = {condition, x, y}});
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

ExprPtr Algebra::copy_of(const Expr& reduce) {
  Expr copy = reduce;
  copy.index = next_loop_++;
  std::unordered_map<const Expr*, ExprPtr> renamed;
  const auto renamed_or_same = [&](const ExprPtr& expr) {
    const auto found = renamed.find(expr.get());
    return found == renamed.end() ? expr : found->second;
  };
  const auto to_rename = [&](const ExprPtr& node) {
    std::vector<ExprPtr> args;
    for (const ExprPtr& arg : node->args)
      if (depends_on_loop(*arg, reduce.index)) args.push_back(arg);
    return args;
  };
  visit_operands_first(copy.args[0], to_rename, [&](const ExprPtr& node) {
    if (!depends_on_loop(*node, reduce.index)) return;  // the body itself
    Expr own = *node;
    if (own.kind == ExprKind::loop_var) own.index = copy.index;
    for (ExprPtr& arg : own.args) arg = renamed_or_same(arg);
    renamed[node.get()] = make(std::move(own));
  });
  copy.args[0] = renamed_or_same(copy.args[0]);
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

void Sum::add(const ExprPtr& term, Algebra& algebra) {
  if (!term || is_number(term, 0)) return;
  if (terms_.empty() || !algebra.makes_one_term(terms_.back(), term)) return terms_.push_back(term);
  const ExprPtr both = algebra.add(terms_.back(), term);
  terms_.pop_back();
  add(both, algebra);
}

ExprPtr Sum::total(Algebra& algebra) const {
  std::vector<ExprPtr> terms = terms_;
  while (terms.size() > 1) {
    std::vector<ExprPtr> pairs;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
      pairs.push_back(algebra.add(terms[i], terms[i + 1]));
    if (terms.size() % 2 == 1) pairs.push_back(terms.back());
    terms = std::move(pairs);
  }
  return terms.empty() ? nullptr : terms.front();
}

}  // namespace fa
