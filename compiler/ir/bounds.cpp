// Proofs that an expression stays at or under a bound: the second half of bounds.h. A goal `expr <= limit` is
// first tried by intervals, then as a linear form with each index replaced by its last value, then by the
// structure of the one part that is not linear (min, max, clamp, where, %, &, division).
#include "compiler/ir/bounds.h"

#include <algorithm>

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
  for (const CheckedTensor& tensor : spec.tensors) {
    tensor_types_.push_back(tensor.info.dtype);
    for (const ExprPtr& extent : tensor.extents)
      if (extent->kind == ExprKind::param) param_ranges_[extent->index] = {1, Interval{}.hi};
  }
  if (spec.score_mod) collect_loops(*spec.score_mod);
  if (spec.mask_mod) collect_loops(*spec.mask_mod);
}

void Bounds::collect_loops(const Expr& expr) {
  if (!visited_.insert(&expr).second) return;
  if (expr.kind == ExprKind::reduce) loop_counts_[expr.index] = expr.count;
  for (const ExprPtr& arg : expr.args) collect_loops(*arg);
}

Linear Bounds::atom(const Expr& expr) {
  Linear form;
  form.terms[expr_key(expr)] = {.coefficient = 1,
                                .range = range(expr),
                                .expr = &expr,
                                .numerator = nullptr,
                                .divisor = 1,
                                .uniform = depends_on(expr) == 0};
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

/// The form with every index replaced by the value that makes it largest (upper) or smallest; nothing where
/// it holds another non-uniform part.
std::optional<Linear> Bounds::uniform_bound(const Linear& form, bool upper) {
  Linear bound = constant_form(form.constant);
  for (const auto& [key, term] : form.terms) {
    const bool want_upper = upper == (term.coefficient > 0);
    if (term.uniform) {
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
      return std::nullopt;
    }
  }
  return bound;
}

Interval Bounds::linear_range(const Linear& form) {
  Interval range = form.range();
  if (const std::optional<Linear> upper = uniform_bound(form, true))
    range.hi = std::min(range.hi, upper->range().hi);
  if (const std::optional<Linear> lower = uniform_bound(form, false))
    range.lo = std::max(range.lo, lower->range().lo);
  return range;
}

bool Bounds::bounded(const Expr& expr, const Linear& limit, bool upper) {
  if (--steps_ < 0) return false;  // nested minima of shared parts could take exponentially many
  const Interval values = range(expr);
  const Interval limits = limit.range();
  if (upper ? values.hi <= limits.lo : values.lo >= limits.hi) return true;
  return bounded(linear(expr), limit, upper);
}

bool Bounds::bounded(const Linear& form, const Linear& limit, bool upper) {
  const auto proves = [&](const Linear& bound) {
    return never_negative(upper ? add(limit, bound, -1) : add(bound, limit, -1));
  };
  if (proves(form)) return true;
  if (const std::optional<Linear> bound = uniform_bound(form, upper)) return proves(*bound);

  // One part that is not linear, alone: the goal moves to that part.
  const Linear::Term* part = nullptr;
  Linear others = form;
  for (const auto& [key, term] : form.terms)
    if (!term.uniform && !is_index(term.expr) && !term.numerator) {
      if (part != nullptr) return false;
      part = &term;
      others.terms.erase(key);
    }
  if (part == nullptr || std::abs(part->coefficient) != 1) return false;
  const std::optional<Linear> bound = uniform_bound(others, upper);
  if (!bound) return false;
  const Linear room = add(limit, *bound, -1);
  if (part->coefficient == 1) return structurally_bounded(*part->expr, room, upper);
  return structurally_bounded(*part->expr, add(constant_form(0), room, -1), !upper);
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
    case ExprKind::reduce:
      return (expr.reduction == Reduction::min || expr.reduction == Reduction::max) && arg(0);
    case ExprKind::binary: {
      if (!upper) return false;  // the lower bounds of these are intervals
      const bool numerator_ok = range(*expr.args[0]).lo >= 0;
      const bool divisor_ok = range(*expr.args[1]).lo >= 1;
      if (expr.op == Op::div && is_builtin(*expr.args[0], Builtin::h) &&
          is_builtin(*expr.args[1], Builtin::group_size))
        return bounded(add(atom(kNumKvHeads), constant_form(1), -1), limit, true);
      if (expr.op == Op::div) return numerator_ok && divisor_ok && arg(0);
      if (expr.op == Op::shr) return numerator_ok && arg(0);
      if (expr.op == Op::mod)
        return divisor_ok &&
               (bounded(*expr.args[1], add(limit, constant_form(1), 1), true) || (numerator_ok && arg(0)));
      if (expr.op == Op::bit_and) return (numerator_ok && arg(0)) || (range(*expr.args[1]).lo >= 0 && arg(1));
      return false;
    }
    default:
      return false;
  }
}

bool Bounds::non_negative(const Expr& expr) {
  steps_ = kMostSteps;
  return bounded(expr, constant_form(0), false);
}

bool Bounds::below(const Expr& expr, const Expr& extent) {
  steps_ = kMostSteps;
  const Linear limit = add(linear(extent), constant_form(1), -1);
  return limit.uniform() && bounded(expr, limit, true);
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
