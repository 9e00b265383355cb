// The interpreter's operators, functions and casts, lane by lane.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "tools/reference/interpreter.h"
#include "tools/reference/interpreter_math.h"

namespace fa::tools {

namespace {

bool compares(Op op) { return op >= Op::lt && op <= Op::ne; }

bool rounds_to_whole(Func func) { return func >= Func::floor && func <= Func::trunc; }

}  // namespace

bool Interpreter::is_decision(const Expr& expr) {
  if (expr.kind == ExprKind::binary) return compares(expr.op) && expr.args[0]->type == Type::f32;
  if (expr.kind == ExprKind::call) return rounds_to_whole(expr.func);
  return expr.kind == ExprKind::cast && expr.type == Type::i32 && expr.args[0]->type == Type::f32;
}

void Interpreter::decide(Node& node, std::size_t lane, bool is_certain, double left, double right) {
  if (!is_certain) raise_doubt(node, lane, left, right);
}

void Interpreter::evaluate_unary(Node& node) {
  const Node& from = arg(node, 0);
  for (std::size_t i = 0; i < lanes(); ++i) {
    switch (node.expr->op) {
      case Op::neg:
        if (node.expr->type == Type::f32) {
          node.f32[i] = {-from.f32[i].value, from.f32[i].error};
        } else {
          node.i32[i] = wrap(-static_cast<std::int64_t>(from.i32[i]));
        }
        break;
      case Op::logical_not:
        node.i32[i] = from.i32[i] == 0 ? 1 : 0;
        break;
      case Op::bit_not:
        node.i32[i] = ~from.i32[i];
        break;
      default:
        throw InternalError("reference interpreter: not a unary operator");
    }
  }
  inherit_doubts(node);
}

void Interpreter::evaluate_binary(Node& node) {
  if (compares(node.expr->op)) return evaluate_comparison(node);
  if (node.expr->type == Type::boolean) return evaluate_logical(node);
  const Node& left = arg(node, 0);
  const Node& right = arg(node, 1);
  const auto integer = [&, count = lanes(), a = left.i32.data(), b = right.i32.data(),
                        out = node.i32.data()](auto operation) {
    for (std::size_t i = 0; i < count; ++i) out[i] = operation(a[i], b[i]);
  };
  using Wide = std::int64_t;
  if (node.expr->type == Type::f32) {
    for (std::size_t i = 0; i < lanes(); ++i) node.f32[i] = arithmetic(node, left.f32[i], right.f32[i]);
    return inherit_doubts(node);
  }
  switch (node.expr->op) {
    case Op::add:
      integer([](Wide a, Wide b) { return wrap(a + b); });
      break;
    case Op::sub:
      integer([](Wide a, Wide b) { return wrap(a - b); });
      break;
    case Op::mul:
      integer([](Wide a, Wide b) { return wrap(a * b); });
      break;
    case Op::div:
      integer(floor_div);
      break;
    case Op::mod:
      integer(floor_mod);
      break;
    case Op::shl:
      integer(shift_left);
      break;
    case Op::shr:
      integer([](std::int32_t a, std::int32_t b) { return a >> (b & 31); });
      break;
    case Op::bit_and:
      integer(std::bit_and<>());
      break;
    case Op::bit_or:
      integer(std::bit_or<>());
      break;
    case Op::bit_xor:
      integer(std::bit_xor<>());
      break;
    default:
      throw InternalError("reference interpreter: not a binary operator");
  }
  inherit_doubts(node);
}

Measured Interpreter::arithmetic(const Node& node, const Measured& a, const Measured& b) {
  const double x = std::fabs(a.value), y = std::fabs(b.value);
  switch (node.expr->op) {
    case Op::add:
      return rounded(a.value + b.value, a.error + b.error, x + y, node.arithmetic);
    case Op::sub:
      return rounded(a.value - b.value, a.error + b.error, x + y, node.arithmetic);
    case Op::mul:
      return rounded(a.value * b.value, x * b.error + y * a.error + a.error * b.error, x * y,
                     node.arithmetic);
    case Op::div: {
      const double quotient = a.value / b.value;
      const double nearest_divisor = y - b.error;  // to 0
      double inherited = 0;
      if (a.error > 0 || b.error > 0)
        inherited = nearest_divisor > 0 ? (a.error + std::fabs(quotient) * b.error) / nearest_divisor
                                        : std::numeric_limits<double>::infinity();
      return rounded(quotient, inherited, std::fabs(quotient), node.arithmetic);
    }
    default:
      throw InternalError("reference interpreter: not an operator of floats");
  }
}

void Interpreter::evaluate_logical(Node& node) {
  const Node& left = arg(node, 0);
  const Node& right = arg(node, 1);
  const bool is_and = node.expr->op == Op::logical_and;
  const auto is_doubtful = [](const Node& from, std::size_t i) {
    return from.is_doubtful && from.doubts[i] != 0;
  };
  for (std::size_t i = 0; i < lanes(); ++i) {
    const bool a = left.i32[i] != 0, b = right.i32[i] != 0;
    node.i32[i] = (is_and ? a && b : a || b) ? 1 : 0;
    // Where one side decides the result alone, there is no doubt.
    const auto settles = [&](const Node& from, bool value) {
      return value != is_and && !is_doubtful(from, i);
    };
    if (settles(left, a) || settles(right, b)) continue;
    set_doubt(node, i, left);
    set_doubt(node, i, right);
  }
}

void Interpreter::evaluate_comparison(Node& node) {
  const Node& left = arg(node, 0);
  const Node& right = arg(node, 1);
  const auto holds = [&](auto a, auto b) {
    switch (node.expr->op) {
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
  };
  for (std::size_t i = 0; i < lanes(); ++i) {
    if (left.expr->type != Type::f32) {
      node.i32[i] = holds(left.i32[i], right.i32[i]) ? 1 : 0;
      continue;
    }
    const Measured &a = left.f32[i], &b = right.f32[i];
    node.i32[i] = holds(a.value, b.value) ? 1 : 0;
    const double error = a.error + b.error;
    const bool is_certain = error == 0 || !(std::fabs(a.value - b.value) <= error);
    decide(node, i, is_certain, a.value, b.value);
  }
  inherit_doubts(node);
}

void Interpreter::evaluate_call(Node& node) {
  const auto at = [&](std::size_t k) -> const Node& { return arg(node, k); };
  const auto unary = [&](auto function, const FunctionError& own) {
    for (std::size_t i = 0; i < lanes(); ++i)
      node.f32[i] = measured_call(function, at(0).f32[i], own, node.arithmetic, fast_);
  };
  const auto binary = [&](auto function, const FunctionError& own) {
    for (std::size_t i = 0; i < lanes(); ++i)
      node.f32[i] = measured_call(function, at(0).f32[i], at(1).f32[i], own, node.arithmetic, fast_);
  };
  // `step`: where the function jumps, next to x.
  const auto whole = [&](auto function, auto step) {
    for (std::size_t i = 0; i < lanes(); ++i) {
      const Measured& x = at(0).f32[i];
      node.f32[i] = {.value = function(x.value)};
      const bool is_certain = function(x.value - x.error) == function(x.value + x.error) || x.error == 0;
      decide(node, i, is_certain, x.value, step(x.value));
    }
  };
  const auto nearest = [](double x) { return std::nearbyint(x); };
  const auto nearest_half = [](double x) { return std::floor(x) + 0.5; };
  // Folds any number of arguments from the left, for either type.
  const auto fold = [&](auto function) {
    for (std::size_t i = 0; i < lanes(); ++i) {
      if (node.expr->type == Type::f32) {
        Measured result = at(0).f32[i];
        for (std::size_t k = 1; k < node.args.size(); ++k)
          result = {function(result.value, at(k).f32[i].value), std::max(result.error, at(k).f32[i].error)};
        node.f32[i] = result;
      } else {
        std::int32_t result = at(0).i32[i];
        for (std::size_t k = 1; k < node.args.size(); ++k) result = function(result, at(k).i32[i]);
        node.i32[i] = result;
      }
    }
  };
  const auto lesser = [](auto a, auto b) { return b < a || a != a ? b : a; };
  const auto greater = [](auto a, auto b) { return b > a || a != a ? b : a; };
  switch (node.expr->func) {
    case Func::min:
      fold(lesser);
      break;
    case Func::max:
      fold(greater);
      break;
    case Func::clamp:
      for (std::size_t i = 0; i < lanes(); ++i) {
        if (node.expr->type == Type::f32) {
          const Measured &x = at(0).f32[i], &low = at(1).f32[i], &high = at(2).f32[i];
          node.f32[i] = {lesser(greater(x.value, low.value), high.value),
                         std::max({x.error, low.error, high.error})};
        } else {
          node.i32[i] = std::min(std::max(at(0).i32[i], at(1).i32[i]), at(2).i32[i]);
        }
      }
      break;
    case Func::abs:
      for (std::size_t i = 0; i < lanes(); ++i) {
        if (node.expr->type == Type::f32)
          node.f32[i] = {std::fabs(at(0).f32[i].value), at(0).f32[i].error};
        else
          node.i32[i] = wrap(std::abs(std::int64_t{at(0).i32[i]}));
      }
      break;
    case Func::floor:
      whole([](double x) { return std::floor(x); }, nearest);
      break;
    case Func::ceil:
      whole([](double x) { return std::ceil(x); }, nearest);
      break;
    case Func::trunc:
      whole([](double x) { return std::trunc(x); }, nearest);
      break;
    case Func::round:
      whole(nearest, nearest_half);
      break;
    // The functions that decide something are the nearest f32 (compiler/ir/math/exact_math.h): no error
    // there. Else docs/numerics.md has these figures.
    case Func::exp:
      unary([](double x) { return std::exp(x); }, functions::kExp);
      break;
    case Func::exp2:
      unary([](double x) { return std::exp2(x); }, functions::kExp);
      break;
    case Func::log:
      unary([](double x) { return std::log(x); }, functions::kLog);
      break;
    case Func::log2:
      unary([](double x) { return std::log2(x); }, functions::kLog);
      break;
    case Func::tanh:
      unary([](double x) { return std::tanh(x); }, functions::kTanh);
      break;
    case Func::sigmoid:
      evaluate_sigmoid(node);
      break;
    case Func::sqrt:
      unary([](double x) { return std::sqrt(x); }, functions::kRoot);
      break;
    case Func::rsqrt:
      evaluate_rsqrt(node);
      break;
    case Func::erf:
      unary([](double x) { return std::erf(x); }, functions::kErf);
      break;
    case Func::sin:
      unary([](double x) { return std::sin(x); }, functions::kSine);
      break;
    case Func::cos:
      unary([](double x) { return std::cos(x); }, functions::kSine);
      break;
    case Func::atan:
      unary([](double x) { return std::atan(x); }, functions::kAtan);
      break;
    case Func::log1p:
      unary([](double x) { return std::log1p(x); }, functions::kLog1p);
      break;
    case Func::expm1:
      unary([](double x) { return std::expm1(x); }, functions::kExpm1);
      break;
    case Func::atan2:
      binary([](double y, double x) { return std::atan2(y, x); }, functions::kAtan2);
      break;
    case Func::pow:
      binary([](double x, double y) { return std::pow(x, y); }, functions::kPow);
      break;
    case Func::ceil_div:
      for (std::size_t i = 0; i < lanes(); ++i) {
        const std::int32_t negated = wrap(-std::int64_t{at(0).i32[i]});
        node.i32[i] = wrap(-std::int64_t{floor_div(negated, at(1).i32[i])});
      }
      break;
    case Func::popcount:
      for (std::size_t i = 0; i < lanes(); ++i)
        node.i32[i] = std::popcount(static_cast<std::uint32_t>(at(0).i32[i]));
      break;
  }
  inherit_doubts(node);
}

// 1 / (1 + exp(-x)), where it decides something rounded at each of these steps.
void Interpreter::evaluate_sigmoid(Node& node) {
  for (std::size_t i = 0; i < lanes(); ++i) {
    const Measured& x = arg(node, 0).f32[i];
    if (node.arithmetic == Arithmetic::exact && x.error == 0) {
      const auto power = static_cast<float>(std::exp(-x.value));
      node.f32[i] = {.value = static_cast<double>(1.0f / (1.0f + power))};
      continue;
    }
    node.f32[i] = measured_call([](double y) { return 1 / (1 + std::exp(-y)); }, x, functions::kSigmoid,
                                node.arithmetic, fast_);
  }
}

// 1 / sqrt(x), likewise.
void Interpreter::evaluate_rsqrt(Node& node) {
  for (std::size_t i = 0; i < lanes(); ++i) {
    const Measured& x = arg(node, 0).f32[i];
    if (node.arithmetic == Arithmetic::exact && x.error == 0) {
      node.f32[i] = {.value = static_cast<double>(1.0f / std::sqrt(static_cast<float>(x.value)))};
      continue;
    }
    node.f32[i] =
        measured_call([](double y) { return 1 / std::sqrt(y); }, x, functions::kRoot, node.arithmetic, fast_);
  }
}

void Interpreter::evaluate_cast(Node& node) {
  const Node& from = arg(node, 0);
  for (std::size_t i = 0; i < lanes(); ++i) {
    if (node.expr->type == Type::f32) {
      node.f32[i] = from.expr->type == Type::f32
                        ? from.f32[i]
                        : Measured{.value = static_cast<double>(static_cast<float>(from.i32[i]))};
    } else if (from.expr->type == Type::f32) {
      const Measured& x = from.f32[i];
      node.i32[i] = truncate(x.value);
      const bool is_certain = x.error == 0 || truncate(x.value - x.error) == truncate(x.value + x.error);
      decide(node, i, is_certain, x.value, std::nearbyint(x.value));
    } else {
      node.i32[i] = from.i32[i];
    }
  }
  inherit_doubts(node);
}

}  // namespace fa::tools
