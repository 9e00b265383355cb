// Reductions: their range, their index, their body.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "compiler/spec/check/expr.h"
#include "compiler/spec/check/fold.h"
#include "compiler/spec/print.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

/// A part of `expr` that differs within a call of the kernel; null where there is none.
const Expr* varying_part(const Expr& expr, std::unordered_set<const Expr*>& seen) {
  if (!seen.insert(&expr).second) return nullptr;
  const bool varies = expr.kind == ExprKind::read || expr.kind == ExprKind::loop_var ||
                      (expr.kind == ExprKind::builtin && expr.builtin <= Builtin::kv_idx);
  if (varies) return &expr;
  for (const ExprPtr& arg : expr.args)
    if (const Expr* part = varying_part(*arg, seen)) return part;
  return nullptr;
}

/// The result of a reduction that has no iterations.
ExprPtr neutral(Reduction reduction, Type type) {
  const bool is_max = reduction == Reduction::max;
  switch (reduction) {
    case Reduction::any:
    case Reduction::all:
      return make_bool(reduction == Reduction::all);
    case Reduction::sum:
      return type == Type::f32 ? make_float(0) : make_int(0);
    case Reduction::min:
    case Reduction::max:
      break;
  }
  using Limits = std::numeric_limits<std::int32_t>;
  if (type == Type::i32) return make_int(is_max ? Limits::min() : Limits::max());
  return make_float((is_max ? -1 : 1) * std::numeric_limits<double>::infinity());
}

}  // namespace

/// The constant number of iterations; reports and returns 0 where it is not constant, or out of range.
int ExprChecker::constant_count(const AstExpr& ast, std::string_view what) {
  const Typed count = check(ast);
  if (!count.expr) return 0;
  if (!is_literal(*count.expr) || count.expr->type != Type::i32) {
    error(ast.span, fmt::format("{} must be a constant i32; this is {}", what,
                                is_literal(*count.expr) ? article_type(count.expr->type) : "no constant"));
    return 0;
  }
  const std::int64_t value = count.expr->int_value;
  if (value < 1 || value > kMaxReduction) {
    error(ast.span, fmt::format("{} is {}; it must be from 1 to {}", what, value, kMaxReduction));
    return 0;
  }
  return static_cast<int>(value);
}

bool ExprChecker::same_for_a_call(const AstExpr& ast, const Typed& range) {
  std::unordered_set<const Expr*> seen;
  const Expr* part = varying_part(*range.expr, seen);
  if (part == nullptr) return true;
  const std::string what =
      part->kind == ExprKind::builtin ? fmt::format("depend on '{}'", builtin_info(part->builtin).name)
      : part->kind == ExprKind::read  ? std::string("read a tensor")
                                      : std::string("depend on another reduction's index");
  error(ast.span, fmt::format("the range of a reduction may not {}", what),
        "it is one number for a whole call, of constants, params and lengths; test the index in the body");
  return false;
}

ExprChecker::Range ExprChecker::reduction_range(const AstExpr& ast) {
  constexpr std::string_view kRange = "the range of a reduction";
  const AstExpr& range_ast = *ast.args[0];
  const AstExpr* maximum_ast = ast.args.size() > 2 ? ast.args[2].get() : nullptr;
  const int maximum =
      maximum_ast == nullptr ? kMaxReduction : constant_count(*maximum_ast, "the maximum of a range");
  Range range;
  range.given = check(range_ast);
  if (!range.given.expr || maximum == 0) return {};
  const Expr& given = *range.given.expr;
  if (given.type != Type::i32) {
    error(range_ast.span, fmt::format("{} is an i32; this is {}", kRange, article_type(given.type)));
    return {};
  }
  if (is_literal(given)) {
    const std::int64_t value = given.int_value;
    if (maximum_ast == nullptr && (value < 1 || value > kMaxReduction)) {
      error(range_ast.span, fmt::format("{} is {}; it must be from 1 to {}", kRange, value, kMaxReduction));
      return {};
    }
    range.given = {};
    range.is_empty = value < 1;
    range.count = static_cast<int>(std::clamp<std::int64_t>(value, 1, maximum));
    return range;
  }
  if (!same_for_a_call(range_ast, range.given)) return {};
  if (maximum_ast == nullptr) {
    error(range_ast.span, fmt::format("{} is known only at run time: state its maximum", kRange),
          fmt::format("write {}({} < {} max 64: ...)", reduction_name(ast.reduction), ast.name,
                      print_expr(range_ast)));
    return {};
  }
  range.count = maximum;
  return range;
}

void ExprChecker::declare_loop(const AstExpr& ast) {
  const bool loop =
      std::any_of(loops_.begin(), loops_.end(), [&](const Loop& l) { return l.name == ast.name; });
  if (is_reserved(ast.name)) {
    error(ast.head_span, fmt::format("'{}' is a word of the language", ast.name),
          "name the index otherwise, such as i");
  } else if (loop || parameter(ast.name) != nullptr || scope_.declares(ast.name)) {
    error(ast.head_span, fmt::format("the index '{}' hides another '{}'", ast.name, ast.name),
          "name it otherwise");
  }
  loops_.push_back({.name = ast.name, .id = scope_.num_loops++});
}

Typed ExprChecker::reduce(const AstExpr& ast) {
  Range range = reduction_range(ast);
  declare_loop(ast);
  const int id = loops_.back().id;
  const AstExpr& body_ast = *ast.args[1];
  Typed body = check(body_ast);
  loops_.pop_back();
  if (!body.expr || range.count == 0) return {};

  const std::string who = fmt::format("'{}'", reduction_name(ast.reduction));
  const bool logical = ast.reduction == Reduction::any || ast.reduction == Reduction::all;
  if (!(logical ? need_condition(body_ast, body, who) : need_number(body_ast, body, who))) return {};
  const std::int64_t steps = static_cast<std::int64_t>(range.count) * body.steps;
  if (steps > kMaxNestedSteps) {
    return error(ast.span, fmt::format("these nested reductions run {} steps; at most {} are allowed", steps,
                                       kMaxNestedSteps));
  }
  const Type type = body.expr->type;
  if (range.is_empty) return literal(ast, neutral(ast.reduction, type));
  const Expr node{
      .kind = ExprKind::reduce, .type = type, .reduction = ast.reduction, .index = id, .count = range.count};
  std::vector<Typed> args = {std::move(body)};
  if (range.given.expr) args.push_back(std::move(range.given));
  Typed made = make(ast, node, std::move(args));
  made.steps = static_cast<int>(steps);
  return made;
}

}  // namespace fa
