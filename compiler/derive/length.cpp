#include "compiler/derive/length.h"

#include <algorithm>

#include "compiler/ir/lower/expr.h"
#include "compiler/spec/walk.h"

namespace fa {
namespace {

std::vector<const Expr*> args_of(const Expr& expr) {
  std::vector<const Expr*> args;
  for (const ExprPtr& arg : expr.args) args.push_back(arg.get());
  return args;
}

bool contains(const std::vector<int>& ids, int id) { return std::ranges::find(ids, id) != ids.end(); }

}  // namespace

std::size_t Length::of(const Expr& expr, std::size_t most) {
  left_ = 4 * most;
  std::size_t length = 0;
  const std::vector<int> open = free_loops_.of(expr);  // the caller runs them
  visit_users_first(&expr, [&](const Expr* node) {
    const bool is_inside =
        !std::ranges::all_of(free_loops_.of(*node), [&](int id) { return contains(open, id); });
    if (!is_inside) length += node->kind == ExprKind::reduce ? 1 + of_body(*node) : 1;
    if (left_ > 0) --left_;
    return left_ == 0 || length > most ? std::vector<const Expr*>() : args_of(*node);
  });
  return left_ == 0 ? most + 1 : length;
}

/// Of all iterations where they are expanded, of one where they become a loop.
std::size_t Length::of_body(const Expr& reduce) {
  if (const auto found = bodies_.find(&reduce); found != bodies_.end()) return found->second;
  const std::vector<int> outside = free_loops_.of(reduce);
  std::size_t length = 0;
  visit_users_first(reduce.args[0].get(), [&](const Expr* node) {
    const std::vector<int>& ids = free_loops_.of(*node);
    if (!contains(ids, reduce.index)) return std::vector<const Expr*>();
    const bool is_own = std::ranges::all_of(ids, [&](int id) {
      return id == reduce.index || contains(outside, id);
    });  // and of no reduction inside
    if (is_own) length += node->kind == ExprKind::reduce ? 1 + of_body(*node) : 1;
    if (left_ > 0) --left_;
    return left_ == 0 ? std::vector<const Expr*>() : args_of(*node);
  });
  const auto count = static_cast<std::size_t>(reduce.count);
  const bool is_expanded = reduce.count <= kLargestExpansion && count * length <= kLargestExpandedNodes;
  return bodies_[&reduce] = is_expanded ? count * length : length;
}

}  // namespace fa
