// Intervals and dependence of expressions: the first half of bounds.h. Everything is computed in 64 bits. A
// result that leaves 32 bits is marked as wrapping, and its interval is that of all i32.
#include <algorithm>

#include "compiler/ir/range/bounds.h"

namespace fa {
namespace {

std::int64_t quotient_down(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

Interval join(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval corners(Interval a, Interval b, auto op) {
  const std::int64_t v[] = {op(a.lo, b.lo), op(a.lo, b.hi), op(a.hi, b.lo), op(a.hi, b.hi)};
  return {*std::min_element(v, v + 4), *std::max_element(v, v + 4)};
}

// Floor division; by zero gives 0, and the one quotient that overflows wraps (the caller checks).
Interval divide(Interval a, Interval b) {
  if (b.lo >= 1) return corners(a, b, quotient_down);
  if (b.hi <= -1) return corners(a, b, quotient_down);
  const std::int64_t m = a.magnitude();  // |a / b| <= |a|, also after rounding down
  return {-m, m};
}

Interval modulo(Interval a, Interval b) {
  if (b.lo >= 1 && a.lo >= 0) return {0, std::min(a.hi, b.hi - 1)};
  return {std::min<std::int64_t>(b.lo + 1, 0), std::max<std::int64_t>(b.hi - 1, 0)};
}

// The smallest 2^k - 1 that is not below `value`.
std::int64_t all_ones(std::int64_t value) {
  std::int64_t mask = 0;
  while (mask < value) mask = mask * 2 + 1;
  return mask;
}

Interval builtin_range(Builtin builtin, int head_dim) {
  constexpr std::int64_t kLast = (std::int64_t{1} << 24) - 1;
  switch (builtin) {
    case Builtin::b:
    case Builtin::h:
    case Builtin::q_idx:
    case Builtin::kv_idx:
      return {0, kLast};
    case Builtin::batch:
    case Builtin::q_len:
    case Builtin::kv_len:
    case Builtin::num_q_heads:
    case Builtin::num_kv_heads:
    case Builtin::group_size:
      return {1, kLast + 1};
    case Builtin::head_dim:
      return Interval::of(head_dim);
    case Builtin::i0:
    case Builtin::i1:
    case Builtin::i2:
    case Builtin::i3:
    case Builtin::i4:
    case Builtin::i5:
    case Builtin::score:
      break;
  }
  return {};
}

}  // namespace

std::int64_t Interval::magnitude() const { return std::max(lo < 0 ? -lo : lo, hi < 0 ? -hi : hi); }

Interval Bounds::range(const Expr& expr) { return ranged(expr).interval; }

bool Bounds::may_wrap(const Expr& expr) { return ranged(expr).wraps; }

const Bounds::Range& Bounds::ranged(const Expr& expr) {
  if (auto found = ranges_.find(&expr); found != ranges_.end()) return found->second;
  Range range = compute_range(expr);
  if (!range.interval.fits_i32()) range = {.interval = {}, .wraps = true};
  ranges_[&expr] = range;
  // Linear forms give tighter intervals for sums: q_idx + (kv_len - q_len) stays below kv_len.
  const bool is_sum = expr.kind == ExprKind::binary && (expr.op == Op::add || expr.op == Op::sub);
  if (is_sum && expr.type == Type::i32 && !range.wraps) {
    const Interval tighter = linear_range(linear(expr));
    Interval& known = ranges_[&expr].interval;
    known = {std::max(known.lo, tighter.lo), std::min(known.hi, tighter.hi)};
  }
  return ranges_[&expr];
}

Bounds::Range Bounds::compute_range(const Expr& expr) {
  if (expr.type == Type::boolean && expr.kind != ExprKind::literal) return {.interval = {0, 1}};
  const auto arg = [&](std::size_t i) { return range(*expr.args[i]); };
  switch (expr.kind) {
    case ExprKind::literal:
      return {.interval = expr.type == Type::f32 ? Interval{} : Interval::of(expr.int_value)};
    case ExprKind::builtin:
      return {.interval = builtin_range(expr.builtin, head_dim_)};
    case ExprKind::param:
      if (auto known = param_ranges_.find(expr.index); known != param_ranges_.end()) return {known->second};
      return {};
    case ExprKind::loop_var:
      if (auto loop = loops_.find(expr.index); loop != loops_.end())
        return {.interval = {0, loop->second->count - 1}};
      return {};
    case ExprKind::unary:
      if (expr.type != Type::i32) return {};
      if (expr.op == Op::neg) return {.interval = {-arg(0).hi, -arg(0).lo}};
      return {.interval = {-arg(0).hi - 1, -arg(0).lo - 1}};  // ~x
    case ExprKind::binary:
      return expr.type == Type::i32 ? binary_range(expr) : Range{};
    case ExprKind::call:
      return expr.type == Type::i32 ? call_range(expr) : Range{};
    case ExprKind::cast:
      if (expr.type == Type::i32 && expr.args[0]->type == Type::boolean) return {.interval = {0, 1}};
      return {};
    case ExprKind::where:
      return {.interval = join(arg(1), arg(2))};
    case ExprKind::read:
      if (tensor_types_[static_cast<std::size_t>(expr.index)] == DType::i8) return {.interval = {-128, 127}};
      if (tensor_types_[static_cast<std::size_t>(expr.index)] == DType::u8) return {.interval = {0, 255}};
      return {};
    case ExprKind::reduce: {
      if (expr.type != Type::i32) return {};
      Interval body = arg(0);
      const bool may_be_empty = expr.args.size() > 1 && arg(1).lo < 1;
      if (may_be_empty && expr.reduction == Reduction::min) body.hi = Interval{}.hi;
      if (may_be_empty && expr.reduction == Reduction::max) body.lo = Interval{}.lo;
      if (expr.reduction != Reduction::sum) return {.interval = body};
      // Partial sums stay between these too, in whatever order they are added.
      return {.interval = {std::min<std::int64_t>(0, body.lo * expr.count),
                           std::max<std::int64_t>(0, body.hi * expr.count)}};
    }
  }
  return {};
}

Bounds::Range Bounds::binary_range(const Expr& expr) {
  const Interval a = range(*expr.args[0]);
  const Interval b = range(*expr.args[1]);
  switch (expr.op) {
    case Op::add:
      return {.interval = {a.lo + b.lo, a.hi + b.hi}};
    case Op::sub:
      return {.interval = {a.lo - b.hi, a.hi - b.lo}};
    case Op::mul:
      return {.interval = corners(a, b, [](std::int64_t x, std::int64_t y) { return x * y; })};
    case Op::div:
      return {.interval = divide(a, b)};
    case Op::mod:
      return {.interval = modulo(a, b)};
    case Op::shl:
      if (!b.is_constant()) return {};
      return {.interval = {a.lo * (std::int64_t{1} << (b.lo & 31)), a.hi * (std::int64_t{1} << (b.lo & 31))}};
    case Op::shr:
      if (b.is_constant()) return {.interval = {a.lo >> (b.lo & 31), a.hi >> (b.lo & 31)}};
      return {.interval = {std::min<std::int64_t>(a.lo, 0), std::max<std::int64_t>(a.hi, 0)}};
    case Op::bit_and:
      if (a.lo >= 0 && b.lo >= 0) return {.interval = {0, std::min(a.hi, b.hi)}};
      if (a.lo >= 0) return {.interval = {0, a.hi}};
      if (b.lo >= 0) return {.interval = {0, b.hi}};
      return {};
    case Op::bit_or:
    case Op::bit_xor:
      if (a.lo >= 0 && b.lo >= 0) return {.interval = {0, all_ones(std::max(a.hi, b.hi))}};
      return {};
    default:
      return {};
  }
}

Bounds::Range Bounds::call_range(const Expr& expr) {
  Interval result = range(*expr.args[0]);
  switch (expr.func) {
    case Func::min:
    case Func::max:
      for (std::size_t i = 1; i < expr.args.size(); ++i) {
        const Interval next = range(*expr.args[i]);
        result = expr.func == Func::min
                     ? Interval{std::min(result.lo, next.lo), std::min(result.hi, next.hi)}
                     : Interval{std::max(result.lo, next.lo), std::max(result.hi, next.hi)};
      }
      return {.interval = result};
    case Func::clamp: {
      const Interval low = range(*expr.args[1]);
      const Interval high = range(*expr.args[2]);
      return {.interval = {std::min(std::max(result.lo, low.lo), high.lo),
                           std::min(std::max(result.hi, low.hi), high.hi)}};
    }
    case Func::abs:
      if (result.lo >= 0) return {.interval = result};
      if (result.hi <= 0) return {.interval = {-result.hi, -result.lo}};
      return {.interval = {0, result.magnitude()}};
    case Func::popcount:
      return {.interval = {0, 32}};
    case Func::ceil_div: {
      // -((-a) / b); `wraps` must also cover the inner negation.
      const Interval negated = {-result.hi, -result.lo};
      if (!negated.fits_i32()) return {.interval = {}, .wraps = true};
      const Interval quotient = divide(negated, range(*expr.args[1]));
      return {.interval = {-quotient.hi, -quotient.lo}};
    }
    default:
      return {};
  }
}

DependsOn Bounds::depends_on(const Expr& expr) {
  if (auto found = depends_.find(&expr); found != depends_.end()) return found->second;
  DependsOn depends;
  if (expr.kind == ExprKind::builtin) {
    switch (expr.builtin) {
      case Builtin::b:
        depends = {DependsOn::b};
        break;
      case Builtin::h:
        depends = {DependsOn::h};
        break;
      case Builtin::q_idx:
        depends = {DependsOn::q};
        break;
      case Builtin::kv_idx:
        depends = {DependsOn::kv};
        break;
      case Builtin::score:
        depends = {DependsOn::score};
        break;
      default:
        break;
    }
  }
  for (const ExprPtr& arg : expr.args) depends |= depends_on(*arg);
  return depends_[&expr] = depends;
}

void Bounds::collect_loops(const Expr& expr) {
  std::vector<const Expr*> open = {&expr};
  while (!open.empty()) {
    const Expr& next = *open.back();
    open.pop_back();
    if (!visited_.insert(&next).second) continue;
    if (next.kind == ExprKind::reduce) loops_[next.index] = &next;
    for (std::size_t i = next.args.size(); i-- > 0;) open.push_back(next.args[i].get());
  }
}

}  // namespace fa
