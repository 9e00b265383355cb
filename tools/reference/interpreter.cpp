// The interpreter: nodes in dependency order, each with a vector of lanes, evaluated on demand. A reduction
// re-evaluates only what its loop variable reaches. Operators and functions: interpreter_ops.cpp.
#include "tools/reference/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tools/reference/interpreter_math.h"

namespace fa::tools {

namespace {

[[noreturn]] void unexpected(const Expr& expr, const char* what) {
  throw InternalError(
      fmt::format("reference interpreter: unexpected {} at {}:{}", what, expr.line, expr.column));
}

/// Adds the next step of a reduction of integers or booleans to each lane's total. Reductions are most of what the interpreter
/// does in specs that have one: a loop for each kind.
void combine(const Expr& reduce, std::span<std::int32_t> totals, const std::int32_t* next) {
  const auto each = [&](auto operation) {
    for (std::int32_t& total : totals) total = operation(total, *next++);
  };
  switch (reduce.reduction) {
    case Reduction::any:
      return each(std::bit_or<>());
    case Reduction::all:
      return each(std::bit_and<>());
    case Reduction::sum:
      return each([](std::int64_t a, std::int64_t b) { return wrap(a + b); });
    case Reduction::min:
      return each([](std::int32_t a, std::int32_t b) { return std::min(a, b); });
    case Reduction::max:
      return each([](std::int32_t a, std::int32_t b) { return std::max(a, b); });
  }
  unexpected(reduce, "reduction");
}

}  // namespace

Interpreter::Interpreter(ExprPtr root, bool fast) : root_(std::move(root)), fast_(fast) {
  std::unordered_map<const Expr*, int> seen;
  add(root_, seen);
  find_arithmetic();

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

/// Values that decide something, and all floats that they are computed from, are exact; floats that depend on
/// the score are not.
void Interpreter::find_arithmetic() {
  for (Node& node : nodes_) {
    node.by_score = node.expr->kind == ExprKind::builtin && node.expr->builtin == Builtin::score;
    for (std::size_t i = 0; i < node.args.size(); ++i) node.by_score |= arg(node, i).by_score;
  }
  // Users stand after their arguments, so one pass backwards finds all.
  for (std::size_t at = nodes_.size(); at-- > 0;) {
    const Node& node = nodes_[at];
    const bool decides = is_decision(*node.expr);
    for (const int number : node.args) {
      Node& from = nodes_[static_cast<std::size_t>(number)];
      if (from.expr->type != Type::f32 || from.by_score) continue;
      const bool goes_on = node.expr->type == Type::f32 && node.arithmetic == Arithmetic::exact;
      if (decides || goes_on) from.arithmetic = Arithmetic::exact;
    }
  }
}

std::span<const double> Interpreter::evaluate_f32(const Environment& environment, int lanes) {
  environment_ = &environment;
  lanes_ = lanes;
  for (auto& node : nodes_) node.ready = false;
  evaluate(static_cast<int>(nodes_.size()) - 1);
  values_.resize(this->lanes());
  errors_.resize(this->lanes());
  for (std::size_t i = 0; i < this->lanes(); ++i) {
    values_[i] = nodes_.back().f32[i].value;
    errors_[i] = nodes_.back().f32[i].error;
  }
  return values_;
}

std::span<const std::int32_t> Interpreter::evaluate_i32(const Environment& environment, int lanes) {
  environment_ = &environment;
  lanes_ = lanes;
  for (auto& node : nodes_) node.ready = false;
  evaluate(static_cast<int>(nodes_.size()) - 1);
  return {nodes_.back().i32.data(), this->lanes()};
}

std::span<const double> Interpreter::errors() const { return errors_; }

std::optional<Doubt> Interpreter::doubt(int lane) const {
  const Node& root = nodes_.back();
  const auto at = static_cast<std::size_t>(lane);
  if (!root.is_doubtful || root.doubts[at] == 0) return {};
  return nodes_[static_cast<std::size_t>(root.doubts[at]) - 1].own_doubts[at];
}

void Interpreter::set_doubt(Node& node, std::size_t lane, const Node& from) {
  if (!from.is_doubtful || from.doubts[lane] == 0) return;
  if (!node.is_doubtful) node.doubts.assign(kLanes, 0);
  node.is_doubtful = true;
  if (node.doubts[lane] == 0) node.doubts[lane] = from.doubts[lane];
}

void Interpreter::raise_doubt(Node& node, std::size_t lane, double left, double right) {
  if (!node.is_doubtful) node.doubts.assign(kLanes, 0);
  node.is_doubtful = true;
  node.own_doubts.resize(kLanes);
  node.own_doubts[lane] = {.at = node.expr, .left = left, .right = right};
  node.doubts[lane] = static_cast<int>(&node - nodes_.data()) + 1;
}

void Interpreter::inherit_doubts(Node& node) {
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    const Node& from = arg(node, k);
    for (std::size_t i = 0; from.is_doubtful && i < lanes(); ++i) set_doubt(node, i, from);
  }
}

void Interpreter::evaluate(int id) {
  Node& node = nodes_[static_cast<std::size_t>(id)];
  if (node.ready) return;
  const Expr& expr = *node.expr;
  node.is_doubtful = false;
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
        std::fill_n(node.f32.begin(), lanes_,
                    Measured{.value = static_cast<double>(static_cast<float>(expr.float_value))});
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
        std::fill_n(node.f32.begin(), lanes_, Measured{.value = static_cast<double>(std::get<float>(value))});
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
    case ExprKind::where:
      evaluate_where(node);
      break;
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
    for (std::size_t i = 0; i < lanes(); ++i)
      node.f32[i] = {.value = environment_->score[i], .error = environment_->score_error};
    return;
  }
  const std::int32_t value = environment_->builtins[static_cast<std::size_t>(name)];
  for (int i = 0; i < lanes_; ++i) {
    node.i32[static_cast<std::size_t>(i)] = name == environment_->lane ? value + i : value;
  }
}

void Interpreter::evaluate_where(Node& node) {
  const Node& condition = arg(node, 0);
  const Node& then = arg(node, 1);
  const Node& otherwise = arg(node, 2);
  for (std::size_t i = 0; i < lanes(); ++i) {
    const Node& chosen = condition.i32[i] != 0 ? then : otherwise;
    bool is_same = false;  // whichever is chosen
    if (node.expr->type == Type::f32) {
      node.f32[i] = chosen.f32[i];
      is_same = then.f32[i].value == otherwise.f32[i].value;
    } else {
      node.i32[i] = chosen.i32[i];
      is_same = then.i32[i] == otherwise.i32[i];
    }
    set_doubt(node, i, chosen);
    if (!is_same) set_doubt(node, i, condition);
  }
}

void Interpreter::evaluate_read(Node& node) {
  const HostTensor& tensor = environment_->tensors[static_cast<std::size_t>(node.expr->index)];
  for (std::size_t i = 0; i < lanes(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t dimension = 0; dimension < node.args.size(); ++dimension) {
      const std::int64_t extent = tensor.shape[dimension];
      const std::int64_t index = arg(node, dimension).i32[i];
      offset = offset * extent + std::clamp<std::int64_t>(index, 0, extent - 1);
    }
    const double value = tensor.get(offset);
    if (node.expr->type == Type::f32) {
      node.f32[i] = {.value = value};
    } else {
      node.i32[i] = static_cast<std::int32_t>(value);
    }
  }
  inherit_doubts(node);
}

void Interpreter::evaluate_reduce(Node& node) {
  const Expr& expr = *node.expr;
  std::int32_t count = expr.count;
  if (node.args.size() > 1) {  // one number for all lanes
    evaluate(node.args[1]);
    count = std::min(count, arg(node, 1).i32[0]);
  }
  if (count < 1) fill_neutral(node);
  for (std::int32_t step = 0; step < count; ++step) {
    loop_values_[expr.index] = step;
    for (const int inside : node.inside_loop) nodes_[static_cast<std::size_t>(inside)].ready = false;
    evaluate(node.args[0]);
    const Node& value = arg(node, 0);
    if (expr.type == Type::f32) {
      for (std::size_t i = 0; i < lanes(); ++i)
        node.f32[i] = step == 0 ? value.f32[i] : combined(node, node.f32[i], value.f32[i]);
    } else if (step == 0) {
      std::copy_n(value.i32.begin(), lanes(), node.i32.begin());
    } else {
      combine(expr, std::span(node.i32).first(lanes()), value.i32.data());
    }
    inherit_doubts(node);
  }
  for (const int inside : node.inside_loop) nodes_[static_cast<std::size_t>(inside)].ready = false;
}

/// The result of a reduction that has no iterations.
void Interpreter::fill_neutral(Node& node) {
  const Reduction reduction = node.expr->reduction;
  if (node.expr->type == Type::f32) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double value = reduction == Reduction::min   ? infinity
                         : reduction == Reduction::max ? -infinity
                                                       : 0.0;
    std::fill_n(node.f32.begin(), lanes_, Measured{.value = value});
    return;
  }
  using Limits = std::numeric_limits<std::int32_t>;
  const std::int32_t value = reduction == Reduction::min   ? Limits::max()
                             : reduction == Reduction::max ? Limits::min()
                             : reduction == Reduction::all ? 1
                                                           : 0;
  std::fill_n(node.i32.begin(), lanes_, value);
}

Measured Interpreter::combined(const Node& node, const Measured& total, const Measured& next) {
  const double error = std::max(total.error, next.error);
  switch (node.expr->reduction) {
    case Reduction::sum:
      return rounded(total.value + next.value, total.error + next.error,
                     std::fabs(total.value) + std::fabs(next.value), node.arithmetic);
    case Reduction::min:
      return {std::fmin(total.value, next.value), error};
    case Reduction::max:
      return {std::fmax(total.value, next.value), error};
    default:
      unexpected(*node.expr, "reduction");
  }
}

std::int32_t evaluate_scalar(const ExprPtr& expr, const Environment& environment) {
  return Interpreter(expr).evaluate_i32(environment, 1)[0];
}

}  // namespace fa::tools
