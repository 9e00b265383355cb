// Constant folding with the language's own arithmetic.
#include "compiler/spec/check/fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace fa {
namespace {

std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }

std::int32_t saturate(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kLow = std::numeric_limits<std::int32_t>::min(),
                   kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(std::trunc(value), kLow, kHigh));
}

template <typename T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    case Op::ge:
      return a >= b;
    case Op::eq:
      return a == b;
    default:
      return a != b;
  }
}

bool is_compare(Op op) { return op >= Op::lt && op <= Op::ne; }

std::int64_t int_binary(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return floor_div(a, b);
    case Op::mod:
      return floor_mod(a, b);
    case Op::shl:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << (b & 31));
    case Op::shr:
      return a >> (b & 31);
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    default:
      return a ^ b;
  }
}

double float_binary(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    default:
      return a / b;
  }
}

std::int64_t int_call(Func func, const Expr& e) {
  const auto arg = [&](std::size_t i) { return e.args[i]->int_value; };
  switch (func) {
    case Func::min:
      return std::min(arg(0), arg(1));
    case Func::max:
      return std::max(arg(0), arg(1));
    case Func::clamp:
      return std::min(std::max(arg(0), arg(1)), arg(2));
    case Func::abs:
      return std::abs(arg(0));
    case Func::popcount:
      return std::popcount(static_cast<std::uint32_t>(arg(0)));
    default:
      return -floor_div(wrap(-arg(0)), arg(1));  // ceil_div
  }
}

double float_call(Func func, const Expr& e) {
  const auto arg = [&](std::size_t i) { return e.args[i]->float_value; };
  const double x = arg(0);
  switch (func) {
    case Func::min:
      return std::min(x, arg(1));
    case Func::max:
      return std::max(x, arg(1));
    case Func::clamp:
      return std::min(std::max(x, arg(1)), arg(2));
    case Func::abs:
      return std::abs(x);
    case Func::floor:
      return std::floor(x);
    case Func::ceil:
      return std::ceil(x);
    case Func::round:
      return std::nearbyint(x);
    case Func::trunc:
      return std::trunc(x);
    case Func::exp:
      return std::exp(x);
    case Func::exp2:
      return std::exp2(x);
    case Func::log:
      return std::log(x);
    case Func::log2:
      return std::log2(x);
    case Func::tanh:
      return std::tanh(x);
    case Func::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Func::sqrt:
      return std::sqrt(x);
    case Func::rsqrt:
      return 1 / std::sqrt(x);
    case Func::erf:
      return std::erf(x);
    case Func::sin:
      return std::sin(x);
    case Func::cos:
      return std::cos(x);
    case Func::atan:
      return std::atan(x);
    case Func::log1p:
      return std::log1p(x);
    case Func::expm1:
      return std::expm1(x);
    case Func::atan2:
      return std::atan2(x, arg(1));
    case Func::pow:
      return std::pow(x, arg(1));
    case Func::ceil_div:
    case Func::popcount:
      break;
  }
  return x;
}

ExprPtr fold_unary(const Expr& e) {
  const Expr& x = *e.args[0];
  if (e.op == Op::logical_not) return make_bool(x.int_value == 0);
  if (e.op == Op::bit_not) return make_int(wrap(~x.int_value));
  return e.type == Type::f32 ? make_float(-x.float_value) : make_int(wrap(-x.int_value));
}

ExprPtr fold_binary(const Expr& e) {
  const Expr &a = *e.args[0], &b = *e.args[1];
  if (e.op == Op::logical_and) return make_bool(a.int_value != 0 && b.int_value != 0);
  if (e.op == Op::logical_or) return make_bool(a.int_value != 0 || b.int_value != 0);
  const bool floats = a.type == Type::f32;
  if (is_compare(e.op)) {
    return make_bool(floats ? compare(e.op, a.float_value, b.float_value)
                            : compare(e.op, a.int_value, b.int_value));
  }
  return floats ? make_float(float_binary(e.op, a.float_value, b.float_value))
                : make_int(wrap(int_binary(e.op, a.int_value, b.int_value)));
}

ExprPtr fold_cast(const Expr& e) {
  const Expr& x = *e.args[0];
  if (e.type == x.type) return e.args[0];
  if (e.type == Type::f32) return make_float(static_cast<double>(x.int_value));
  return make_int(x.type == Type::f32 ? saturate(x.float_value) : wrap(x.int_value));
}

// `and`, `or` and `where` with one literal side; null where nothing is decided.
ExprPtr decided(const Expr& e) {
  if (e.kind == ExprKind::where && is_literal(*e.args[0])) return e.args[e.args[0]->int_value != 0 ? 1 : 2];
  if (e.kind != ExprKind::binary || (e.op != Op::logical_and && e.op != Op::logical_or)) return nullptr;
  const bool deciding = e.op == Op::logical_or;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_literal(*e.args[i])) continue;
    return (e.args[i]->int_value != 0) == deciding ? e.args[i] : e.args[1 - i];
  }
  return nullptr;
}

// A minimum with a NaN is not folded: the target decides which side wins.
bool has_nan(const Expr& e) {
  return std::any_of(e.args.begin(), e.args.end(),
                     [](const ExprPtr& x) { return std::isnan(x->float_value); });
}

ExprPtr folded(const Expr& e) {
  switch (e.kind) {
    case ExprKind::unary:
      return fold_unary(e);
    case ExprKind::binary:
      return fold_binary(e);
    case ExprKind::cast:
      return fold_cast(e);
    case ExprKind::call:
      if (e.type == Type::i32) return make_int(wrap(int_call(e.func, e)));
      return has_nan(e) ? nullptr : make_float(float_call(e.func, e));
    case ExprKind::reduce:
      return e.reduction == Reduction::sum ? nullptr : e.args[0];
    default:
      return nullptr;
  }
}

}  // namespace

bool is_literal(const Expr& expr) { return expr.kind == ExprKind::literal; }

ExprPtr make_int(std::int32_t value) {
  return std::make_shared<Expr>(Expr{.kind = ExprKind::literal, .type = Type::i32, .int_value = value});
}

ExprPtr make_float(double value) {
  return std::make_shared<Expr>(
      Expr{.kind = ExprKind::literal, .type = Type::f32, .float_value = static_cast<float>(value)});
}

ExprPtr make_bool(bool value) {
  return std::make_shared<Expr>(
      Expr{.kind = ExprKind::literal, .type = Type::boolean, .int_value = value ? 1 : 0});
}

ExprPtr fold(Expr expr) {
  ExprPtr result = decided(expr);
  const bool constant =
      !expr.args.empty() &&
      std::all_of(expr.args.begin(), expr.args.end(), [](const ExprPtr& arg) { return is_literal(*arg); });
  // A read with literal indices has literal args too, yet its value is the tensor's.
  if (!result && constant && expr.kind != ExprKind::read) result = folded(expr);
  if (!result) return std::make_shared<Expr>(std::move(expr));
  if (!is_literal(*result)) return result;
  Expr placed = *result;
  placed.line = expr.line;
  placed.column = expr.column;
  return std::make_shared<Expr>(std::move(placed));
}

}  // namespace fa
