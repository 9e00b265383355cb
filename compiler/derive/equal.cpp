#include "compiler/derive/equal.h"

#include <bit>
#include <memory>
#include <utility>

#include "compiler/spec/walk.h"

namespace fa {
namespace {

/// All of a node but its arguments and its place in the spec.
std::vector<std::int64_t> content(const Expr& expr) {
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  return {number(expr.kind),    number(expr.type),
          number(expr.op),      number(expr.func),
          number(expr.builtin), number(expr.reduction),
          number(expr.index),   number(expr.count),
          expr.int_value,       std::bit_cast<std::int64_t>(expr.float_value)};
}

}  // namespace

ExprPtr Equals::unified(const ExprPtr& expr) {
  const auto unknown_args = [&](const ExprPtr& node) {
    std::vector<ExprPtr> args;
    for (const ExprPtr& arg : node->args)
      if (!known_.contains(arg.get())) args.push_back(arg);
    return args;
  };
  visit_operands_first(expr, unknown_args, [&](const ExprPtr& node) {
    std::vector<std::int64_t> key = content(*node);
    for (const ExprPtr& arg : node->args) key.push_back(static_cast<std::int64_t>(known_.at(arg.get())));
    const auto [at, is_new] = by_content_.try_emplace(std::move(key), nodes_.size());
    known_[node.get()] = at->second;
    if (!is_new) return;
    Expr own = *node;
    for (ExprPtr& arg : own.args) arg = nodes_[known_.at(arg.get())];
    nodes_.push_back(own.args == node->args ? node : std::make_shared<const Expr>(std::move(own)));
    known_[nodes_.back().get()] = at->second;
  });
  return nodes_[known_.at(expr.get())];
}

}  // namespace fa
