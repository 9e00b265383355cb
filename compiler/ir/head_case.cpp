// Conditions with the same structure are one condition, also where the spec writes it twice.
#include "compiler/ir/head_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/lower/free_loops.h"
#include "compiler/ir/range/bounds.h"
#include "compiler/spec/check/fold.h"

namespace fa {
namespace {

// Operations per element; fewer than this cost less than a second copy of the kernel.
constexpr int kFewestDecided = 2;

/// Numbers expressions: equal ones have the same number. Each node is visited once.
class Structure {
 public:
  int of(const Expr& expr) {
    if (const auto found = known_.find(&expr); found != known_.end()) return found->second;
    std::string key =
        fmt::format("{} {} {} {} {} {} {} {} {} {}", static_cast<int>(expr.kind), static_cast<int>(expr.type),
                    static_cast<int>(expr.op), static_cast<int>(expr.func), static_cast<int>(expr.reduction),
                    static_cast<int>(expr.builtin), expr.index, expr.count, expr.int_value, expr.float_value);
    for (const ExprPtr& arg : expr.args) key += fmt::format(" {}", of(*arg));
    const int number = numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second;
    return known_[&expr] = number;
  }

 private:
  std::unordered_map<const Expr*, int> known_;
  std::unordered_map<std::string, int> numbers_;
};

class HeadCases {
 public:
  explicit HeadCases(const CheckedSpec& spec) : bounds_(spec) {}

  void look_at(const ExprPtr& expr) {
    if (!seen_.insert(expr.get()).second) return;
    for (const ExprPtr& arg : expr->args) look_at(arg);
    if (expr->kind == ExprKind::where) {
      count(expr->args[0], {expr->args[1].get(), expr->args[2].get()});
    } else if (expr->kind == ExprKind::binary &&
               (expr->op == Op::logical_and || expr->op == Op::logical_or)) {
      count(expr->args[0], {expr->args[1].get()});
      count(expr->args[1], {expr->args[0].get()});
    }
  }

  /// The condition that decides the most operations, where those are enough.
  ExprPtr best() const {
    const auto most = std::max_element(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
      return a.second.decided < b.second.decided;
    });
    return most == found_.end() || most->second.decided < kFewestDecided ? nullptr : most->second.condition;
  }

  int structure(const Expr& expr) { return structure_.of(expr); }

 private:
  struct Found {
    ExprPtr condition;
    int decided = 0;
  };

  /// `not c` decides what c does.
  void count(ExprPtr condition, std::initializer_list<const Expr*> decided) {
    while (condition->kind == ExprKind::unary && condition->op == Op::logical_not)
      condition = condition->args[0];
    if (condition->type != Type::boolean || is_literal(*condition)) return;
    if (bounds_.depends_on(*condition).has(DependsOn::q | DependsOn::kv | DependsOn::score)) return;
    if (!free_loops_.of(*condition).empty()) return;  // another value in each step of a reduction
    Found& found = found_[structure_.of(*condition)];
    found.condition = condition;
    std::unordered_set<const Expr*> counted;
    for (const Expr* expr : decided) found.decided += element_operations(*expr, counted);
  }

  int element_operations(const Expr& expr, std::unordered_set<const Expr*>& counted) {
    if (expr.args.empty() || !counted.insert(&expr).second) return 0;
    int operations = bounds_.depends_on(expr).is_of_element() ? 1 : 0;
    for (const ExprPtr& arg : expr.args) operations += element_operations(*arg, counted);
    return operations;
  }

  Bounds bounds_;
  FreeLoops free_loops_;
  Structure structure_;
  std::unordered_set<const Expr*> seen_;
  std::map<int, Found> found_;  // by structure
};

/// The expression with every condition of this structure replaced by its value.
class Decided {
 public:
  Decided(HeadCases& cases, int structure, bool holds)
      : cases_(cases), structure_(structure), holds_(holds) {}

  ExprPtr of(const ExprPtr& expr) {
    if (const auto found = known_.find(expr.get()); found != known_.end()) return found->second;
    return known_[expr.get()] = decide(expr);
  }

 private:
  ExprPtr decide(const ExprPtr& expr) {
    if (expr->type == Type::boolean && cases_.structure(*expr) == structure_) return make_bool(holds_);
    Expr copy = *expr;
    bool is_same = true;
    for (ExprPtr& arg : copy.args) {
      const ExprPtr decided = of(arg);
      is_same &= decided == arg;
      arg = decided;
    }
    return is_same ? expr : fold(std::move(copy));
  }

  HeadCases& cases_;
  int structure_;
  bool holds_;
  std::unordered_map<const Expr*, ExprPtr> known_;
};

}  // namespace

std::optional<HeadCase> find_head_case(const CheckedSpec& spec) {
  HeadCases cases(spec);
  if (spec.score_mod) cases.look_at(spec.score_mod);
  if (spec.mask_mod) cases.look_at(spec.mask_mod);
  const ExprPtr condition = cases.best();
  if (!condition) return {};
  const auto decided = [&](bool holds) {
    Decided decide(cases, cases.structure(*condition), holds);
    CheckedSpec result = spec;
    if (spec.score_mod) result.score_mod = decide.of(spec.score_mod);
    if (spec.mask_mod) result.mask_mod = decide.of(spec.mask_mod);
    return result;
  };
  return HeadCase{.condition = condition, .holds = decided(true), .fails = decided(false)};
}

}  // namespace fa
