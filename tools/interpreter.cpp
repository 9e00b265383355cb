// The interpreter: nodes in dependency order, each with a vector of lanes, evaluated on demand. A reduction
// re-evaluates only what its loop variable reaches. Operators and functions: interpreter_ops.cpp.
#include "tools/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/interpreter_math.h"

namespace fa::tools {

namespace {

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
