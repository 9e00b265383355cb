// Powers, and functions such as relu and gelu, which the checker replaces by other operations. Their
// arguments become shared nodes, so nothing is evaluated twice.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "compiler/spec/check/expr.h"
#include "compiler/spec/check/fold.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

// For an f32 base: up to this exponent a product of factors is as exact as pow, and cheaper.
constexpr std::int64_t kMostFactors = 4;
// For an i32 base: beyond this exponent every base but -1, 0 and 1 has wrapped around.
constexpr std::int64_t kLargestExponent = 64;

bool is_number(const Expr& expr, double value) {
  if (!is_literal(expr)) return false;
  return expr.type == Type::f32   ? expr.float_value == value
         : expr.type == Type::i32 ? static_cast<double>(expr.int_value) == value
                                  : false;
}

}  // namespace

/// The product of `exponent` >= 1 factors, by squaring.
Typed ExprChecker::product_power(const AstExpr& ast, const Typed& base, std::int64_t exponent) {
  if (exponent == 1) return base;
  Typed half = product_power(ast, base, exponent / 2);
  if (!half.expr) return {};
  Typed square = operation(ast, Op::mul, half, half);
  if (exponent % 2 == 0 || !square.expr) return square;
  return operation(ast, Op::mul, std::move(square), base);
}

Typed ExprChecker::power(const AstExpr& ast, Typed base, Typed exponent) {
  const AstExpr &base_ast = *ast.args[0], &exponent_ast = *ast.args[1];
  const bool integers = base.expr->type == Type::i32 && exponent.expr->type == Type::i32;
  if (integers) {
    if (!is_literal(*exponent.expr)) {
      return error(exponent_ast.span, "the exponent of an i32 must be constant",
                   "write 1 << n for a power of two, f32(x) ** y for an f32");
    }
    const std::int64_t n = exponent.expr->int_value;
    if (n < 0 || n > kLargestExponent) {
      return error(exponent_ast.span,
                   fmt::format("the exponent of an i32 is {}; it must be from 0 to {}", n, kLargestExponent),
                   n < 0 ? "for the fraction write f32(x) ** -1" : "on floats write f32(x) ** y");
    }
    return n == 0 ? literal(ast, make_int(1)) : product_power(ast, base, n);
  }
  if (is_number(*base.expr, 2)) return applied(ast, Func::exp2, {promote(exponent_ast, std::move(exponent))});
  base = promote(base_ast, std::move(base));
  exponent = promote(exponent_ast, std::move(exponent));
  if (!base.expr || !exponent.expr) return {};
  if (is_number(*exponent.expr, 0.5)) return applied(ast, Func::sqrt, {std::move(base)});
  if (is_number(*exponent.expr, -0.5)) return applied(ast, Func::rsqrt, {std::move(base)});
  for (std::int64_t n = 0; n <= kMostFactors; ++n) {
    if (!is_number(*exponent.expr, static_cast<double>(n)) &&
        !is_number(*exponent.expr, -static_cast<double>(n)))
      continue;
    if (n == 0) return literal(ast, make_float(1));
    Typed product = product_power(ast, base, n);
    if (exponent.expr->float_value > 0 || !product.expr) return product;
    return operation(ast, Op::div, literal(ast, make_float(1)), std::move(product));
  }
  return applied(ast, Func::pow, {std::move(base), std::move(exponent)});
}

Typed ExprChecker::call_composite(const AstExpr& ast, Typed x) {
  const CompositeInfo& function = *find_composite(ast.name);
  if (!need_number(*ast.args[0], x, fmt::format("'{}'", ast.name))) return {};
  if (function.arguments == ArgumentKind::floating) x = promote(*ast.args[0], std::move(x));
  if (!x.expr) return {};
  const Type type = x.expr->type;
  const auto number = [&](double value) {
    return literal(ast, type == Type::f32 ? make_float(value) : make_int(static_cast<std::int32_t>(value)));
  };
  const auto call = [&](Func func, Typed of) { return applied(ast, func, {std::move(of)}); };
  switch (function.composite) {
    case Composite::relu:
      return applied(ast, Func::max, {std::move(x), number(0)});
    case Composite::gelu: {  // x / 2 * (1 + erf(x / sqrt(2)))
      Typed erf = call(Func::erf, operation(ast, Op::mul, x, number(std::sqrt(0.5))));
      Typed half = operation(ast, Op::mul, number(0.5), std::move(x));
      return operation(ast, Op::mul, std::move(half), operation(ast, Op::add, number(1), std::move(erf)));
    }
    case Composite::tan:
      return operation(ast, Op::div, call(Func::sin, x), call(Func::cos, x));
    case Composite::silu:
      return operation(ast, Op::mul, x, call(Func::sigmoid, x));
    case Composite::softplus: {  // log(1 + exp(x)), without overflow
      Typed minus = make(ast, {.kind = ExprKind::unary, .type = type, .op = Op::neg}, {call(Func::abs, x)});
      Typed rest = call(Func::log1p, call(Func::exp, std::move(minus)));
      return operation(ast, Op::add, applied(ast, Func::max, {std::move(x), number(0)}), std::move(rest));
    }
    case Composite::sign: {  // 0 for NaN too
      const auto compared = [&](Op op) {
        return make(ast, {.kind = ExprKind::binary, .type = Type::boolean, .op = op}, {x, number(0)});
      };
      const auto choose = [&](Typed condition, Typed then, Typed otherwise) {
        return make(ast, {.kind = ExprKind::where, .type = type},
                    {std::move(condition), std::move(then), std::move(otherwise)});
      };
      return choose(compared(Op::gt), number(1), choose(compared(Op::lt), number(-1), number(0)));
    }
  }
  return {};
}

}  // namespace fa
