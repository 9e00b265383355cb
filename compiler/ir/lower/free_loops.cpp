#include "compiler/ir/lower/free_loops.h"

#include <algorithm>
#include <vector>

#include "compiler/spec/walk.h"

namespace fa {

const std::vector<int>& FreeLoops::of(const Expr& expr) {
  if (const auto found = known_.find(&expr); found != known_.end()) return found->second;
  const auto unknown_args = [&](const Expr* node) {
    std::vector<const Expr*> args;
    for (const ExprPtr& arg : node->args)
      if (!known_.contains(arg.get())) args.push_back(arg.get());
    return args;
  };
  visit_operands_first(&expr, unknown_args, [&](const Expr* node) { known_[node] = find(*node); });
  return known_.at(&expr);
}

std::vector<int> FreeLoops::find(const Expr& expr) const {
  std::vector<int> ids;
  if (expr.kind == ExprKind::loop_var) ids.push_back(expr.index);
  for (const ExprPtr& arg : expr.args)
    for (const int id : known_.at(arg.get())) {
      const bool is_own = expr.kind == ExprKind::reduce && id == expr.index;
      if (!is_own && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  return ids;
}

}  // namespace fa
