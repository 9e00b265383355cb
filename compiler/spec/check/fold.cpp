// Constant folding with the language's own arithmetic.
#include "compiler/spec/check/fold.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/spec/arithmetic.h"

namespace fa {
namespace {

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
                : make_int(int_binary(e.op, wrap(a.int_value), wrap(b.int_value)));
}

ExprPtr fold_cast(const Expr& e) {
  const Expr& x = *e.args[0];
  if (e.type == x.type) return e.args[0];
  if (e.type == Type::f32) return make_float(static_cast<double>(x.int_value));
  return make_int(x.type == Type::f32 ? to_i32(x.float_value) : wrap(x.int_value));
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

ExprPtr fold_call(const Expr& e) {
  if (e.type == Type::i32) {
    std::vector<std::int32_t> args;
    for (const ExprPtr& arg : e.args) args.push_back(wrap(arg->int_value));
    return make_int(int_call(e.func, args));
  }
  if (has_nan(e)) return nullptr;
  std::vector<double> args;
  for (const ExprPtr& arg : e.args) args.push_back(arg->float_value);
  return make_float(float_call(e.func, args));
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
      return fold_call(e);
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
