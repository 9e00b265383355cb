// Proofs that an expression stays at or under a bound: the second half of bounds.h. A goal `expr <= limit` is
// first tried by intervals, then as a linear form with each index replaced by its last value, then by the
// structure of the one part that is not linear (min, max, clamp, where, %, &, division), then by that of the
// limit (min, max).
#include "compiler/ir/range/bounds.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fa {
namespace {

constexpr int kMostSteps = 500;  // of one proof

Expr builtin_expr(Builtin builtin) {
  Expr expr;
  expr.kind = ExprKind::builtin;
  expr.builtin = builtin;
  return expr;
}

const Expr kBatch = builtin_expr(Builtin::batch);
const Expr kQLen = builtin_expr(Builtin::q_len);
const Expr kKvLen = builtin_expr(Builtin::kv_len);
const Expr kNumQHeads = builtin_expr(Builtin::num_q_heads);
const Expr kNumKvHeads = builtin_expr(Builtin::num_kv_heads);

bool is_builtin(const Expr& expr, Builtin builtin) {
  return expr.kind == ExprKind::builtin && expr.builtin == builtin;
}

bool is_index(const Expr* expr) {
  return expr != nullptr && expr->kind == ExprKind::builtin && expr->builtin >= Builtin::b &&
         expr->builtin <= Builtin::kv_idx;
}

}  // namespace

Bounds::Bounds(const CheckedSpec& spec) : head_dim_(spec.head_dim) {
  read_extents(spec);
  if (spec.score_mod) collect_loops(*spec.score_mod);
  if (spec.mask_mod) collect_loops(*spec.mask_mod);
  if (spec.sink) collect_loops(*spec.sink);
}

/// What follows for params because every extent is at least 1. This concerns a param that is an extent
/// itself, or by which an extent divides something of at least 1, rounded down or up. (Of a sum that may wrap
/// around nothing follows.)
void Bounds::read_extents(const CheckedSpec& spec) {
  for (const CheckedTensor& tensor : spec.tensors) tensor_types_.push_back(tensor.info.dtype);
  for (const CheckedTensor& tensor : spec.tensors)
    for (const ExprPtr& extent : tensor.extents) {
      const bool divides = (extent->kind == ExprKind::binary && extent->op == Op::div) ||
                           (extent->kind == ExprKind::call && extent->func == Func::ceil_div);
      const Expr& known = divides ? *extent->args[1] : *extent;
      if (known.kind != ExprKind::param || (divides && range(*extent->args[0]).lo < 1)) continue;
      param_ranges_[known.index] = {1, Interval{}.hi};
    }
  ranges_.clear();  // found before the params were known
  linears_.clear();
}

Linear Bounds::atom(const Expr& expr) {
  Linear form;
  form.terms[expr_key(expr)] = {.coefficient = 1,
                                .range = range(expr),
                                .expr = &expr,
                                .numerator = nullptr,
                                .divisor = 1,
                                .uniform = depends_on(expr).bits == 0};
  return form;
}

const Linear& Bounds::linear(const Expr& expr) {
  if (auto found = linears_.find(&expr); found != linears_.end()) return found->second;
  Linear form = compute_linear(expr);
  if (!is_tractable(form)) form = atom(expr);
  return linears_[&expr] = std::move(form);
}

Linear Bounds::compute_linear(const Expr& expr) {
  if (expr.kind == ExprKind::literal) return constant_form(expr.int_value);
  if (is_builtin(expr, Builtin::head_dim)) return constant_form(head_dim_);
  if (may_wrap(expr)) return atom(expr);
  if (expr.kind == ExprKind::unary && expr.op == Op::neg)
    return add(constant_form(0), linear(*expr.args[0]), -1);
  const bool is_ceil_div = expr.kind == ExprKind::call && expr.func == Func::ceil_div;
  if (expr.kind != ExprKind::binary && !is_ceil_div) return atom(expr);

  const Linear a = linear(*expr.args[0]);
  const Linear b = linear(*expr.args[1]);
  const bool by_constant = b.terms.empty();
  if (is_ceil_div) {
    if (!by_constant || b.constant < 1) return atom(expr);
    return floor_div(add(a, constant_form(b.constant - 1), 1), b.constant);
  }
  switch (expr.op) {
    case Op::add:
      return add(a, b, 1);
    case Op::sub:
      return add(a, b, -1);
    case Op::mul:
      if (by_constant && std::abs(b.constant) <= kLargestCoefficient)
        return add(constant_form(0), a, b.constant);
      if (a.terms.empty() && std::abs(a.constant) <= kLargestCoefficient)
        return add(constant_form(0), b, a.constant);
      return atom(expr);
    case Op::shl:
      if (!by_constant || (b.constant & 31) > 28) return atom(expr);
      return add(constant_form(0), a, std::int64_t{1} << (b.constant & 31));
    case Op::div:
      return by_constant && b.constant >= 1 ? floor_div(a, b.constant) : atom(expr);
    case Op::shr:
      return by_constant ? floor_div(a, std::int64_t{1} << (b.constant & 31)) : atom(expr);
    default:
      return atom(expr);
  }
}

Linear Bounds::floor_div(const Linear& numerator, std::int64_t divisor) {
  if (divisor == 1) return numerator;
  // numerator = divisor * whole + rest, the rest's coefficients and constant in [0, divisor).
  Linear whole, rest;
  whole.constant = floor_quotient(numerator.constant, divisor);
  rest.constant = numerator.constant - divisor * whole.constant;
  for (const auto& [key, term] : numerator.terms) {
    const std::int64_t quotient = floor_quotient(term.coefficient, divisor);
    const std::int64_t remainder = term.coefficient - divisor * quotient;
    if (quotient != 0) (whole.terms[key] = term).coefficient = quotient;
    if (remainder != 0) (rest.terms[key] = term).coefficient = remainder;
  }
  if (rest.terms.empty()) return whole;
  const Interval range = rest.range();
  Linear floor;
  floor.terms["floor(" + rest.key() + "/" + std::to_string(divisor) + ")"] = {
      .coefficient = 1,
      .range = {floor_quotient(range.lo, divisor), floor_quotient(range.hi, divisor)},
      .expr = nullptr,
      .numerator = std::make_shared<Linear>(rest),
      .divisor = divisor,
      .uniform = rest.uniform()};
  return add(std::move(whole), floor, 1);
}

Linear Bounds::index_limit(Builtin builtin, bool upper) {
  if (!upper) return constant_form(0);
  const Expr* length = &kBatch;
  if (builtin == Builtin::h) length = &kNumQHeads;
  if (builtin == Builtin::q_idx) length = &kQLen;
  if (builtin == Builtin::kv_idx) length = &kKvLen;
  return add(atom(*length), constant_form(1), -1);
}

/// Whether it is the index of a reduction whose range is known only at run time.
bool Bounds::has_dynamic_range(const Expr* expr) const {
  if (expr == nullptr || expr->kind != ExprKind::loop_var) return false;
  const auto loop = loops_.find(expr->index);
  return loop != loops_.end() && loop->second->args.size() > 1;
}

/// The form with every index replaced by the value that makes it largest (upper) or smallest, and so every
/// part of a known interval; nothing where it holds another non-uniform part.
std::optional<Linear> Bounds::uniform_bound(const Linear& form, bool upper) {
  Linear bound = constant_form(form.constant);
  for (const auto& [key, term] : form.terms) {
    const bool want_upper = upper == (term.coefficient > 0);
    if (term.uniform && !has_dynamic_range(term.expr)) {
      Linear same;
      same.terms[key] = term;
      bound = add(std::move(bound), same, 1);
    } else if (is_index(term.expr)) {
      bound = add(std::move(bound), index_limit(term.expr->builtin, want_upper), term.coefficient);
    } else if (term.numerator) {
      const std::optional<Linear> numerator = uniform_bound(*term.numerator, want_upper);
      if (!numerator) return std::nullopt;
      bound = add(std::move(bound), floor_div(*numerator, term.divisor), term.coefficient);
    } else {
      const std::int64_t end = want_upper ? term.range.hi : term.range.lo;
      if (end == (want_upper ? Interval{}.hi : Interval{}.lo)) return std::nullopt;
      bound.constant += term.coefficient * end;
    }
  }
  return bound;
}

Interval Bounds::linear_range(const Linear& form) {
  // Intervals are kept for later proofs, so they must not use what only the present proof assumes.
  const bool in_ranges = std::exchange(in_ranges_, false);
  Interval range = form.range();
  if (const std::optional<Linear> upper = uniform_bound(form, true))
    range.hi = std::min(range.hi, upper->range().hi);
  if (const std::optional<Linear> lower = uniform_bound(form, false))
    range.lo = std::max(range.lo, lower->range().lo);
  in_ranges_ = in_ranges;
  return range;
}

bool Bounds::bounded(const Expr& expr, const Linear& limit, bool upper) {
  if (--steps_ < 0) return false;  // nested minima of shared parts could take exponentially many
  const Interval values = range(expr);
  const Interval limits = limit.range();
  if (upper ? values.hi <= limits.lo : values.lo >= limits.hi) return true;
  return bounded(linear(expr), limit, upper) || bounded_by_limits(expr, limit, upper);
}

/// By a minimum or a maximum in the limit, or in the numerator of a quotient in it: one of its arguments is
/// enough where the limit is the farther of them, else all are needed.
bool Bounds::bounded_by_limits(const Expr& expr, const Linear& limit, bool upper) {
  const auto is_choice = [](const Linear::Term& term) {
    return term.expr != nullptr && term.expr->kind == ExprKind::call &&
           (term.expr->func == Func::min || term.expr->func == Func::max);
  };
  // `limit_of` makes the limit that has one of the choice's arguments in its place.
  const auto by_arguments = [&](const Linear::Term& choice, bool is_positive, const auto& limit_of) {
    const bool is_farther = upper == ((choice.expr->func == Func::max) == is_positive);
    for (const ExprPtr& arg : choice.expr->args)
      if (bounded(expr, limit_of(linear(*arg)), upper) == is_farther) return is_farther;
    return !is_farther;
  };
  for (const auto& [key, term] : limit.terms) {
    Linear rest = limit;
    rest.terms.erase(key);
    if (is_choice(term))
      return by_arguments(term, term.coefficient > 0,
                          [&](const Linear& arg) { return add(rest, arg, term.coefficient); });
    if (!term.numerator) continue;
    for (const auto& [inner_key, inner] : term.numerator->terms) {
      if (!is_choice(inner)) continue;
      Linear others = *term.numerator;
      others.terms.erase(inner_key);
      return by_arguments(inner, (inner.coefficient > 0) == (term.coefficient > 0), [&](const Linear& arg) {
        return add(rest, floor_div(add(others, arg, inner.coefficient), term.divisor), term.coefficient);
      });
    }
  }
  return false;
}

bool Bounds::bounded(const Linear& form, const Linear& limit, bool upper) {
  const auto proves = [&](const Linear& bound) {
    return never_negative(upper ? add(limit, bound, -1) : add(bound, limit, -1));
  };
  if (proves(form)) return true;
  if (const std::optional<Linear> bound = uniform_bound(form, upper); bound && proves(*bound)) return true;

  // The one part that is not linear and not the same everywhere: the goal moves to it. Where there is none,
  // it may move to any part that has a structure.
  std::vector<const Linear::Term*> parts;
  for (const auto& [key, term] : form.terms) {
    const bool varies = !term.uniform || has_dynamic_range(term.expr);
    if (varies && !is_index(term.expr) && !term.numerator) parts.push_back(&term);
  }
  if (parts.size() > 1) return false;
  if (parts.empty())
    for (const auto& [key, term] : form.terms)
      if (term.expr != nullptr && !term.expr->args.empty()) parts.push_back(&term);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Linear::Term* part) { return bounded_at(*part, form, limit, upper); });
}

/// Uses the structure of one part of the form, with the other parts at the ends of their intervals.
bool Bounds::bounded_at(const Linear::Term& part, const Linear& form, const Linear& limit, bool upper) {
  if (std::abs(part.coefficient) != 1) return false;
  Linear others = form;
  std::erase_if(others.terms, [&](const auto& entry) { return entry.second.expr == part.expr; });
  const std::optional<Linear> bound = uniform_bound(others, upper);
  if (!bound) return false;
  const Linear room = add(limit, *bound, -1);
  if (part.coefficient == 1) return structurally_bounded(*part.expr, room, upper);
  return structurally_bounded(*part.expr, add(constant_form(0), room, -1), !upper);
}

bool Bounds::structurally_bounded(const Expr& expr, const Linear& limit, bool upper) {
  const auto arg = [&](std::size_t i) { return bounded(*expr.args[i], limit, upper); };
  const auto any = [&] {
    for (std::size_t i = 0; i < expr.args.size(); ++i)
      if (arg(i)) return true;
    return false;
  };
  const auto all = [&] {
    for (std::size_t i = 0; i < expr.args.size(); ++i)
      if (!arg(i)) return false;
    return true;
  };
  switch (expr.kind) {
    case ExprKind::call:
      if (expr.func == Func::min) return upper ? any() : all();
      if (expr.func == Func::max) return upper ? all() : any();
      if (expr.func == Func::clamp)  // min(max(x, lo), hi)
        return upper ? arg(2) || (arg(0) && arg(1)) : arg(2) && (arg(0) || arg(1));
      return false;
    case ExprKind::where:
      return arg(1) && arg(2);
    case ExprKind::reduce: {
      if (expr.reduction != Reduction::min && expr.reduction != Reduction::max) return false;
      // The minimum over no iterations is the largest number, the maximum the smallest.
      const bool may_be_empty = expr.args.size() > 1 && range(*expr.args[1]).lo < 1;
      if (may_be_empty && upper == (expr.reduction == Reduction::min)) return false;
      return arg(0);
    }
    case ExprKind::binary: {
      if (!upper) return false;  // the lower bounds of these are intervals
      const bool numerator_ok = range(*expr.args[0]).lo >= 0;
      const bool divisor_ok = range(*expr.args[1]).lo >= 1;
      if (expr.op == Op::div && is_builtin(*expr.args[0], Builtin::h) &&
          is_builtin(*expr.args[1], Builtin::group_size))
        return bounded(add(atom(kNumKvHeads), constant_form(1), -1), limit, true);
      if (expr.op == Op::div)
        return divisor_ok && ((numerator_ok && arg(0)) || quotient_bounded(expr, limit));
      if (expr.op == Op::shr) return numerator_ok && arg(0);
      if (expr.op == Op::mod)
        return divisor_ok &&
               (bounded(*expr.args[1], add(limit, constant_form(1), 1), true) || (numerator_ok && arg(0)));
      if (expr.op == Op::bit_and) return (numerator_ok && arg(0)) || (range(*expr.args[1]).lo >= 0 && arg(1));
      return false;
    }
    case ExprKind::loop_var: {
      if (!in_ranges_ || !upper || !has_dynamic_range(&expr)) return false;
      // A loop runs once even where its range is below 1.
      const Expr& range = *loops_.at(expr.index)->args[1];
      return this->range(range).lo >= 1 && bounded(range, add(limit, constant_form(1), 1), true);
    }
    default:
      return false;
  }
}

/// a / d <= limit by a quotient of the same d > 0 in the limit: a / d is at most n / d where a <= n, and at
/// most ceil_div(n, d) - 1 where a <= n - 1.
bool Bounds::quotient_bounded(const Expr& quotient, const Linear& limit) {
  if (limit.terms.size() != 1 || limit.terms.begin()->second.coefficient != 1) return false;
  const Expr* other = limit.terms.begin()->second.expr;
  if (other == nullptr) return false;
  const bool rounds_up = other->kind == ExprKind::call && other->func == Func::ceil_div;
  const bool is_quotient = other->kind == ExprKind::binary && other->op == Op::div;
  if ((!rounds_up && !is_quotient) || limit.constant < (rounds_up ? -1 : 0)) return false;
  if (expr_key(*quotient.args[1]) != expr_key(*other->args[1])) return false;
  const Linear most = add(linear(*other->args[0]), constant_form(limit.constant < 0 ? 1 : 0), -1);
  return most.uniform() && bounded(*quotient.args[0], most, true);
}

bool Bounds::non_negative(const Expr& expr) {
  steps_ = kMostSteps;
  return bounded(expr, constant_form(0), false);
}

bool Bounds::below(const Expr& expr, const Expr& extent, bool in_ranges) {
  steps_ = kMostSteps;
  const Linear limit = add(linear(extent), constant_form(1), -1);
  in_ranges_ = in_ranges;
  const bool is_below = limit.uniform() && bounded(expr, limit, true);
  in_ranges_ = false;
  return is_below;
}

/// left <= right + offset
bool Bounds::proves_le(const Expr& left, const Expr& right, std::int64_t offset) {
  steps_ = kMostSteps;
  const Linear l = linear(left);
  const Linear r = linear(right);
  if (range(left).hi <= range(right).lo + offset) return true;
  if (r.uniform() && bounded(left, add(r, constant_form(offset), 1), true)) return true;
  if (l.uniform() && bounded(right, add(l, constant_form(offset), -1), false)) return true;
  return add(add(r, l, -1), constant_form(offset), 1).range().lo >= 0;
}

std::optional<bool> Bounds::decide(Op op, const Expr& left, const Expr& right) {
  switch (op) {
    case Op::lt:
      if (proves_le(left, right, -1)) return true;
      if (proves_le(right, left, 0)) return false;
      return std::nullopt;
    case Op::le:
      if (proves_le(left, right, 0)) return true;
      if (proves_le(right, left, -1)) return false;
      return std::nullopt;
    case Op::gt:
      return decide(Op::lt, right, left);
    case Op::ge:
      return decide(Op::le, right, left);
    case Op::eq:
      if (proves_le(left, right, -1) || proves_le(right, left, -1)) return false;
      if (proves_le(left, right, 0) && proves_le(right, left, 0)) return true;
      return std::nullopt;
    case Op::ne:
      if (const std::optional<bool> equal = decide(Op::eq, left, right)) return !*equal;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace fa
