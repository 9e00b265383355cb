// The interpreter: nodes in dependency order, each with a vector of lanes, evaluated on demand. A reduction
// re-evaluates only what its loop variable reaches. Integer arithmetic goes through int64 or uint32, so that
// wrap-around is defined.
#include "tools/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fa::tools {

namespace {

std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

std::int32_t floor_div(std::int32_t a, std::int32_t b) {
  if (b == 0) return 0;
  const std::int64_t wide_a = a;
  const std::int64_t wide_b = b;
  std::int64_t quotient = wide_a / wide_b;
  if (wide_a % wide_b != 0 && (wide_a < 0) != (wide_b < 0)) --quotient;
  return wrap(quotient);
}

std::int32_t floor_mod(std::int32_t a, std::int32_t b) {
  if (b == 0) return 0;
  std::int64_t remainder = static_cast<std::int64_t>(a) % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  return wrap(remainder);
}

std::int32_t shift_left(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) << (static_cast<std::uint32_t>(b) & 31U));
}

std::int32_t truncate(double value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(std::trunc(value), -0x1p31, 0x1p31 - 1));
}

[[noreturn]] void unexpected(const Expr& expr, const char* what) {
  throw InternalError(
      fmt::format("reference interpreter: unexpected {} at {}:{}", what, expr.line, expr.column));
}

}  // namespace

Interpreter::Interpreter(ExprPtr root) : root_(std::move(root)) {
  std::unordered_map<const Expr*, int> seen;
  add(root_, seen);

  // Nodes stand after their arguments, so one pass finds all that depends on a loop variable.
  for (auto& reduce : nodes_) {
    if (reduce.expr->kind != ExprKind::reduce) continue;
    std::vector<bool> inside(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (&node == &reduce) break;
      inside[i] = (node.expr->kind == ExprKind::loop_var && node.expr->index == reduce.expr->index) ||
                  std::any_of(node.args.begin(), node.args.end(),
                              [&](int arg) { return inside[static_cast<std::size_t>(arg)]; });
      if (inside[i]) reduce.inside_loop.push_back(static_cast<int>(i));
    }
  }
}

int Interpreter::add(const ExprPtr& expr, std::unordered_map<const Expr*, int>& seen) {
  if (const auto found = seen.find(expr.get()); found != seen.end()) return found->second;
  Node node;
  node.expr = expr.get();
  for (const auto& arg : expr->args) node.args.push_back(add(arg, seen));
  if (expr->type == Type::f32) {
    node.f32.resize(kLanes);
  } else {
    node.i32.resize(kLanes);
  }
  nodes_.push_back(std::move(node));
  return seen[expr.get()] = static_cast<int>(nodes_.size()) - 1;
}

std::span<const double> Interpreter::evaluate_f32(const Environment& environment, int lanes) {
  environment_ = &environment;
  lanes_ = lanes;
  for (auto& node : nodes_) node.ready = false;
  evaluate(static_cast<int>(nodes_.size()) - 1);
  return {nodes_.back().f32.data(), static_cast<std::size_t>(lanes)};
}

std::span<const std::int32_t> Interpreter::evaluate_i32(const Environment& environment, int lanes) {
  environment_ = &environment;
  lanes_ = lanes;
  for (auto& node : nodes_) node.ready = false;
  evaluate(static_cast<int>(nodes_.size()) - 1);
  return {nodes_.back().i32.data(), static_cast<std::size_t>(lanes)};
}

void Interpreter::evaluate(int id) {
  Node& node = nodes_[static_cast<std::size_t>(id)];
  if (node.ready) return;
  const Expr& expr = *node.expr;
  if (expr.kind == ExprKind::reduce) {
    evaluate_reduce(node);
    node.ready = true;
    return;
  }
  for (const int arg : node.args) evaluate(arg);
  switch (expr.kind) {
    case ExprKind::literal:
      // An f32 literal means the f32 nearest to it, in whatever precision the rest is evaluated.
      if (expr.type == Type::f32) {
        std::fill_n(node.f32.begin(), lanes_, static_cast<double>(static_cast<float>(expr.float_value)));
      } else {
        std::fill_n(node.i32.begin(), lanes_, wrap(expr.int_value));
      }
      break;
    case ExprKind::builtin:
      evaluate_builtin(node);
      break;
    case ExprKind::param: {
      const Scalar& value = environment_->params[static_cast<std::size_t>(expr.index)];
      if (expr.type == Type::f32) {
        std::fill_n(node.f32.begin(), lanes_, static_cast<double>(std::get<float>(value)));
      } else {
        std::fill_n(node.i32.begin(), lanes_, std::get<std::int32_t>(value));
      }
      break;
    }
    case ExprKind::loop_var:
      std::fill_n(node.i32.begin(), lanes_, loop_values_.at(expr.index));
      break;
    case ExprKind::unary:
      evaluate_unary(node);
      break;
    case ExprKind::binary:
      evaluate_binary(node);
      break;
    case ExprKind::call:
      evaluate_call(node);
      break;
    case ExprKind::cast:
      evaluate_cast(node);
      break;
    case ExprKind::where: {
      const auto& condition = nodes_[static_cast<std::size_t>(node.args[0])].i32;
      const Node& then = nodes_[static_cast<std::size_t>(node.args[1])];
      const Node& otherwise = nodes_[static_cast<std::size_t>(node.args[2])];
      for (std::size_t i = 0; i < static_cast<std::size_t>(lanes_); ++i) {
        const Node& chosen = condition[i] != 0 ? then : otherwise;
        if (expr.type == Type::f32) {
          node.f32[i] = chosen.f32[i];
        } else {
          node.i32[i] = chosen.i32[i];
        }
      }
      break;
    }
    case ExprKind::read:
      evaluate_read(node);
      break;
    case ExprKind::reduce:
      break;
  }
  node.ready = true;
}

void Interpreter::evaluate_builtin(Node& node) {
  const Builtin name = node.expr->builtin;
  if (name == Builtin::score) {
    if (environment_->score == nullptr) unexpected(*node.expr, "score");
    std::copy_n(environment_->score, lanes_, node.f32.begin());
    return;
  }
  const std::int32_t value = environment_->builtins[static_cast<std::size_t>(name)];
  for (int i = 0; i < lanes_; ++i) {
    node.i32[static_cast<std::size_t>(i)] = name == environment_->lane ? value + i : value;
  }
}

void Interpreter::evaluate_unary(Node& node) {
  const Node& arg = nodes_[static_cast<std::size_t>(node.args[0])];
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes_); ++i) {
    switch (node.expr->op) {
      case Op::neg:
        if (node.expr->type == Type::f32) {
          node.f32[i] = -arg.f32[i];
        } else {
          node.i32[i] = wrap(-static_cast<std::int64_t>(arg.i32[i]));
        }
        break;
      case Op::logical_not:
        node.i32[i] = arg.i32[i] == 0 ? 1 : 0;
        break;
      case Op::bit_not:
        node.i32[i] = ~arg.i32[i];
        break;
      default:
        unexpected(*node.expr, "unary operator");
    }
  }
}

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
      unexpected(*node.expr, "binary operator");
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

void Interpreter::evaluate_read(Node& node) {
  const HostTensor& tensor = environment_->tensors[static_cast<std::size_t>(node.expr->index)];
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes_); ++i) {
    std::int64_t offset = 0;
    for (std::size_t dimension = 0; dimension < node.args.size(); ++dimension) {
      const std::int64_t extent = tensor.shape[dimension];
      const std::int64_t index = nodes_[static_cast<std::size_t>(node.args[dimension])].i32[i];
      offset = offset * extent + std::clamp<std::int64_t>(index, 0, extent - 1);
    }
    const double value = tensor.get(offset);
    if (node.expr->type == Type::f32) {
      node.f32[i] = value;
    } else {
      node.i32[i] = static_cast<std::int32_t>(value);
    }
  }
}

void Interpreter::evaluate_reduce(Node& node) {
  const Expr& expr = *node.expr;
  const auto lanes = static_cast<std::size_t>(lanes_);
  const int body = node.args[0];
  for (std::int32_t step = 0; step < expr.count; ++step) {
    loop_values_[expr.index] = step;
    for (const int inside : node.inside_loop) nodes_[static_cast<std::size_t>(inside)].ready = false;
    evaluate(body);
    const Node& value = nodes_[static_cast<std::size_t>(body)];
    for (std::size_t i = 0; i < lanes; ++i) {
      if (expr.type == Type::f32) {
        const double x = value.f32[i];
        double& result = node.f32[i];
        if (step == 0) {
          result = x;
        } else {
          switch (expr.reduction) {
            case Reduction::sum:
              result += x;
              break;
            case Reduction::min:
              result = std::fmin(result, x);
              break;
            case Reduction::max:
              result = std::fmax(result, x);
              break;
            default:
              unexpected(expr, "reduction");
          }
        }
      } else {
        const std::int32_t x = value.i32[i];
        std::int32_t& result = node.i32[i];
        if (step == 0) {
          result = x;
        } else {
          switch (expr.reduction) {
            case Reduction::any:
              result |= x;
              break;
            case Reduction::all:
              result &= x;
              break;
            case Reduction::sum:
              result = wrap(std::int64_t{result} + x);
              break;
            case Reduction::min:
              result = std::min(result, x);
              break;
            case Reduction::max:
              result = std::max(result, x);
              break;
          }
        }
      }
    }
  }
  for (const int inside : node.inside_loop) nodes_[static_cast<std::size_t>(inside)].ready = false;
}

std::int32_t evaluate_scalar(const ExprPtr& expr, const Environment& environment) {
  return Interpreter(expr).evaluate_i32(environment, 1)[0];
}

}  // namespace fa::tools
