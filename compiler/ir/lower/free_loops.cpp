#include "compiler/ir/lower/free_loops.h"

#include <algorithm>
#include <utility>

namespace fa {

const std::vector<int>& FreeLoops::of(const Expr& expr) {
  if (const auto found = known_.find(&expr); found != known_.end()) return found->second;
  std::vector<int> ids;
  if (expr.kind == ExprKind::loop_var) ids.push_back(expr.index);
  for (const ExprPtr& arg : expr.args)
    for (const int id : of(*arg)) {
      const bool is_own = expr.kind == ExprKind::reduce && id == expr.index;
      if (!is_own && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  return known_[&expr] = std::move(ids);
}

}  // namespace fa
