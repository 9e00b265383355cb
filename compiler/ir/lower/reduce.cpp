// Bounded reductions: small ones are expanded in place and combined as a balanced tree (sums of floats in
// order), large ones become one counted loop (`do { body } while (++i != count)`, a single block unless
// reductions nest). What does not depend on the loop's variable is lowered before the loop.
//
// A run-time range (args[1], at most `count`): expanded, iterations past it give the neutral element; a loop
// runs as often as it says but at least once, and its result is the neutral element where that was too often.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>
#include <unordered_set>

#include "compiler/ir/lower/expr.h"
#include "compiler/spec/walk.h"

namespace fa {

/// The innermost iteration the expression depends on.
ExprLowering::Scope& ExprLowering::scope_of(const Expr& expr) {
  const std::vector<int>& ids = free_loops_.of(expr);
  for (std::size_t i = scopes_.size(); i-- > 1;)
    if (std::find(ids.begin(), ids.end(), scopes_[i].loop) != ids.end()) return scopes_[i];
  return scopes_.front();
}

bool ExprLowering::is_open(int loop) const {
  return std::ranges::any_of(scopes_, [&](const Scope& scope) { return scope.loop == loop; });
}

/// How many values one iteration computes, with the reductions inside it expanded; at most one more than are
/// expanded.
int ExprLowering::expanded_nodes(const Expr& expr, int loop) {
  constexpr int kMost = kLargestExpandedNodes + 1;
  struct Open {
    const Expr* node;
    int times;
  };
  int nodes = 0;
  std::unordered_set<const Expr*> seen;
  std::vector<Open> open = {{&expr, 1}};
  while (!open.empty() && nodes < kMost) {
    const auto [node, outside] = open.back();
    open.pop_back();
    const std::vector<int>& ids = free_loops_.of(*node);
    const bool varies = std::ranges::find(ids, loop) != ids.end();
    if (!varies || !seen.insert(node).second) continue;
    const bool is_expanded = node->kind == ExprKind::reduce && node->count <= kLargestExpansion;
    const int times = std::min(outside * (is_expanded ? node->count : 1), kMost);
    nodes += times;
    for (std::size_t i = node->args.size(); i-- > 0;) open.push_back({node->args[i].get(), times});
  }
  return std::min(nodes, kMost);
}

llvm::Value* ExprLowering::combine(const Expr& reduce, llvm::Value* a, llvm::Value* b) {
  switch (reduce.reduction) {
    case Reduction::any:
      return builder_.CreateOr(a, b);
    case Reduction::all:
      return builder_.CreateAnd(a, b);
    case Reduction::sum:
      if (reduce.type == Type::f32) return builder_.CreateFAdd(a, b, "sum");
      return builder_.CreateAdd(a, b, "sum", false, !bounds_.may_wrap(reduce));
    case Reduction::min:
    case Reduction::max:
      break;
  }
  return min_max(reduce.reduction == Reduction::max, a, b);
}

llvm::Value* ExprLowering::lower_reduce(const Expr& expr) {
  const bool is_small = expr.count <= kLargestExpansion &&
                        expr.count * expanded_nodes(*expr.args[0], expr.index) <= kLargestExpandedNodes;
  return is_small ? expand(expr) : loop(expr);
}

llvm::Value* ExprLowering::expand(const Expr& expr) {
  std::vector<llvm::Value*> values;
  for (int i = 0; i < expr.count; ++i) {
    scopes_.push_back({.loop = expr.index, .variable = int_constant(i), .values = {}, .floats = {}});
    lower_steps(expr.index);
    values.push_back(where_reached(expr, i, lower(*expr.args[0])));
    scopes_.pop_back();
  }
  if (expr.type == Type::f32 &&
      expr.reduction == Reduction::sum) {  // in order: another one would round otherwise
    llvm::Value* total = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) total = combine(expr, total, values[i]);
    return total;
  }
  while (values.size() > 1) {
    std::vector<llvm::Value*> pairs;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      pairs.push_back(combine(expr, values[i], values[i + 1]));
    if (values.size() % 2 == 1) pairs.push_back(values.back());
    values = std::move(pairs);
  }
  return values.front();
}

/// The result of a reduction that has no iterations.
llvm::Value* ExprLowering::neutral(const Expr& reduce) {
  const bool is_float = reduce.type == Type::f32;
  const bool is_max = reduce.reduction == Reduction::max;
  switch (reduce.reduction) {
    case Reduction::any:
    case Reduction::all:
      return builder_.getInt1(reduce.reduction == Reduction::all);
    case Reduction::sum:
      return is_float ? llvm::ConstantFP::get(builder_.getFloatTy(), 0.0) : int_constant(0);
    case Reduction::min:
    case Reduction::max:
      break;
  }
  if (is_float) return llvm::ConstantFP::getInfinity(builder_.getFloatTy(), is_max);
  return int_constant(is_max ? Interval{}.lo : Interval{}.hi);
}

/// `value`, or the neutral element where a run-time range stops before `iteration`.
llvm::Value* ExprLowering::where_reached(const Expr& reduce, int iteration, llvm::Value* value) {
  if (reduce.args.size() < 2 || bounds_.range(*reduce.args[1]).lo > iteration) return value;
  llvm::Value* is_reached =
      builder_.CreateICmpSGT(lower(*reduce.args[1]), int_constant(iteration), "reached");
  if (reduce.reduction == Reduction::any) return builder_.CreateAnd(is_reached, value);
  if (reduce.reduction == Reduction::all) return builder_.CreateOr(builder_.CreateNot(is_reached), value);
  return builder_.CreateSelect(is_reached, value, neutral(reduce), "choice");
}

/// Lowers, before the loop, every largest part of `expr` that does not depend on it.
void ExprLowering::hoist(const Expr& expr, int loop) {
  visit_users_first(&expr, [&](const Expr* node) {
    std::vector<const Expr*> args;
    const std::vector<int>& ids = free_loops_.of(*node);
    if (std::ranges::find(ids, loop) != ids.end()) {
      for (const ExprPtr& arg : node->args) args.push_back(arg.get());
    } else if (std::ranges::all_of(ids, [&](int id) { return is_open(id); })) {
      lower(*node);
    }  // else it is under another reduction's variable, and belongs to that reduction's iteration
    return args;
  });
}

llvm::Value* ExprLowering::loop(const Expr& expr) {
  const Expr& body = *expr.args[0];
  hoist(body, expr.index);
  llvm::Value* start = neutral(expr);
  llvm::Value* count = int_constant(expr.count);
  const bool is_dynamic = expr.args.size() > 1;
  const Expr& range = is_dynamic ? *expr.args[1] : expr;
  if (is_dynamic) count = min_max(true, min_max(false, lower(range), count), int_constant(1));

  llvm::LLVMContext& context = builder_.getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* block = llvm::BasicBlock::Create(context, "loop", &function_);
  builder_.CreateBr(block);

  builder_.SetInsertPoint(block);
  llvm::PHINode* variable = builder_.CreatePHI(builder_.getInt32Ty(), 2, "i");
  llvm::PHINode* total = builder_.CreatePHI(start->getType(), 2, "total");
  variable->addIncoming(int_constant(0), before);
  total->addIncoming(start, before);

  scopes_.push_back({.loop = expr.index, .variable = variable, .values = {}, .floats = {}});
  lower_steps(expr.index);
  llvm::Value* combined = combine(expr, total, lower(body));
  scopes_.pop_back();

  llvm::Value* next = builder_.CreateAdd(variable, int_constant(1), "next", true, true);
  llvm::BasicBlock* latch = builder_.GetInsertBlock();  // a nested loop moves it
  variable->addIncoming(next, latch);
  total->addIncoming(combined, latch);
  // Made after the loops inside, so that blocks stand in the order they run in and the return in the last.
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", &function_);
  builder_.CreateCondBr(builder_.CreateICmpNE(next, count), block, after);
  builder_.SetInsertPoint(after);
  return is_dynamic ? where_reached(expr, 0, combined) : combined;
}

}  // namespace fa
