// The interpreter's binary operators, functions and casts, lane by lane.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tools/interpreter.h"
#include "tools/interpreter_math.h"

namespace fa::tools {

void Interpreter::evaluate_binary(Node& node) {
  const Node& left = nodes_[static_cast<std::size_t>(node.args[0])];
  const Node& right = nodes_[static_cast<std::size_t>(node.args[1])];
  const auto lanes = static_cast<std::size_t>(lanes_);
  const auto real = [&](auto operation) {
    for (std::size_t i = 0; i < lanes; ++i) node.f32[i] = operation(left.f32[i], right.f32[i]);
  };
  const auto integer = [&](auto operation) {
    for (std::size_t i = 0; i < lanes; ++i) node.i32[i] = operation(left.i32[i], right.i32[i]);
  };
  const auto compare = [&](auto operation) {
    if (left.expr->type == Type::f32) {
      for (std::size_t i = 0; i < lanes; ++i) node.i32[i] = operation(left.f32[i], right.f32[i]) ? 1 : 0;
    } else {
      for (std::size_t i = 0; i < lanes; ++i) node.i32[i] = operation(left.i32[i], right.i32[i]) ? 1 : 0;
    }
  };
  using Wide = std::int64_t;
  const bool is_real = node.expr->type == Type::f32;
  switch (node.expr->op) {
    case Op::add:
      return is_real ? real(std::plus<>()) : integer([](Wide a, Wide b) { return wrap(a + b); });
    case Op::sub:
      return is_real ? real(std::minus<>()) : integer([](Wide a, Wide b) { return wrap(a - b); });
    case Op::mul:
      return is_real ? real(std::multiplies<>()) : integer([](Wide a, Wide b) { return wrap(a * b); });
    case Op::div:
      return is_real ? real([](double a, double b) { return a / b; }) : integer(floor_div);
    case Op::mod:
      return integer(floor_mod);
    case Op::shl:
      return integer(shift_left);
    case Op::shr:
      return integer([](std::int32_t a, std::int32_t b) { return a >> (b & 31); });
    case Op::bit_and:
      return integer(std::bit_and<>());
    case Op::bit_or:
      return integer(std::bit_or<>());
    case Op::bit_xor:
      return integer(std::bit_xor<>());
    case Op::lt:
      return compare(std::less<>());
    case Op::le:
      return compare(std::less_equal<>());
    case Op::gt:
      return compare(std::greater<>());
    case Op::ge:
      return compare(std::greater_equal<>());
    case Op::eq:
      return compare(std::equal_to<>());
    case Op::ne:
      return compare(std::not_equal_to<>());
    case Op::logical_and:
      return integer([](std::int32_t a, std::int32_t b) { return a != 0 && b != 0 ? 1 : 0; });
    case Op::logical_or:
      return integer([](std::int32_t a, std::int32_t b) { return a != 0 || b != 0 ? 1 : 0; });
    default:
      throw InternalError("reference interpreter: not a binary operator");
  }
}

void Interpreter::evaluate_call(Node& node) {
  const auto lanes = static_cast<std::size_t>(lanes_);
  const auto arg = [&](std::size_t i) -> const Node& {
    return nodes_[static_cast<std::size_t>(node.args[i])];
  };
  const auto unary = [&](auto function) {
    for (std::size_t i = 0; i < lanes; ++i) node.f32[i] = function(arg(0).f32[i]);
  };
  // Folds any number of arguments from the left, for either type.
  const auto fold = [&](auto function) {
    for (std::size_t i = 0; i < lanes; ++i) {
      if (node.expr->type == Type::f32) {
        double result = arg(0).f32[i];
        for (std::size_t k = 1; k < node.args.size(); ++k) result = function(result, arg(k).f32[i]);
        node.f32[i] = result;
      } else {
        std::int32_t result = arg(0).i32[i];
        for (std::size_t k = 1; k < node.args.size(); ++k) result = function(result, arg(k).i32[i]);
        node.i32[i] = result;
      }
    }
  };
  const auto lesser = [](auto a, auto b) { return b < a || a != a ? b : a; };
  const auto greater = [](auto a, auto b) { return b > a || a != a ? b : a; };
  switch (node.expr->func) {
    case Func::min:
      return fold(lesser);
    case Func::max:
      return fold(greater);
    case Func::clamp:
      for (std::size_t i = 0; i < lanes; ++i) {
        if (node.expr->type == Type::f32) {
          node.f32[i] = lesser(greater(arg(0).f32[i], arg(1).f32[i]), arg(2).f32[i]);
        } else {
          node.i32[i] = std::min(std::max(arg(0).i32[i], arg(1).i32[i]), arg(2).i32[i]);
        }
      }
      return;
    case Func::abs:
      if (node.expr->type == Type::f32) return unary([](double x) { return std::fabs(x); });
      for (std::size_t i = 0; i < lanes; ++i) node.i32[i] = wrap(std::abs(std::int64_t{arg(0).i32[i]}));
      return;
    case Func::floor:
      return unary([](double x) { return std::floor(x); });
    case Func::exp:
      return unary([](double x) { return std::exp(x); });
    case Func::exp2:
      return unary([](double x) { return std::exp2(x); });
    case Func::log:
      return unary([](double x) { return std::log(x); });
    case Func::log2:
      return unary([](double x) { return std::log2(x); });
    case Func::tanh:
      return unary([](double x) { return std::tanh(x); });
    case Func::sigmoid:
      return unary([](double x) { return 1 / (1 + std::exp(-x)); });
    case Func::sqrt:
      return unary([](double x) { return std::sqrt(x); });
    case Func::rsqrt:
      return unary([](double x) { return 1 / std::sqrt(x); });
    case Func::erf:
      return unary([](double x) { return std::erf(x); });
    case Func::sin:
      return unary([](double x) { return std::sin(x); });
    case Func::cos:
      return unary([](double x) { return std::cos(x); });
    case Func::ceil_div:
      for (std::size_t i = 0; i < lanes; ++i) {
        const std::int32_t negated = wrap(-std::int64_t{arg(0).i32[i]});
        node.i32[i] = wrap(-std::int64_t{floor_div(negated, arg(1).i32[i])});
      }
      return;
  }
}

void Interpreter::evaluate_cast(Node& node) {
  const Node& from = nodes_[static_cast<std::size_t>(node.args[0])];
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes_); ++i) {
    if (node.expr->type == Type::f32) {
      node.f32[i] = from.expr->type == Type::f32 ? from.f32[i] : from.i32[i];
    } else if (from.expr->type == Type::f32) {
      node.i32[i] = truncate(from.f32[i]);
    } else {
      node.i32[i] = from.i32[i];
    }
  }
}

}  // namespace fa::tools
