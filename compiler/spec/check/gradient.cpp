#include "compiler/spec/check/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/spec/walk.h"

namespace fa {
namespace {

/// The params and tensors of a spec's expressions.
struct Names {
  std::set<int> params, tensors;

  void add(const Expr& expr) {
    if (expr.kind == ExprKind::param) params.insert(expr.index);
    if (expr.kind == ExprKind::read) tensors.insert(expr.index);
  }
};

void collect_all(const ExprPtr& hook, Names& names) {
  visit_users_first(hook, [&](const ExprPtr& node) {
    names.add(*node);
    return node->args;
  });
}

void collect_reached(const ExprPtr& hook, Names& names) {
  visit_users_first(hook, [&](const ExprPtr& node) {
    names.add(*node);
    return differentiable_args(*node);
  });
}

}  // namespace

std::vector<ExprPtr> differentiable_args(const Expr& expr) {
  if (expr.type != Type::f32) return {};
  const auto of_type_f32 = [&](std::size_t first, std::size_t end) {
    std::vector<ExprPtr> args;
    for (std::size_t i = first; i < end; ++i)
      if (expr.args[i]->type == Type::f32) args.push_back(expr.args[i]);
    return args;
  };
  switch (expr.kind) {
    case ExprKind::literal:
    case ExprKind::builtin:
    case ExprKind::param:
    case ExprKind::loop_var:
    case ExprKind::read:
      return {};
    case ExprKind::call:
      if (expr.func >= Func::floor && expr.func <= Func::trunc) return {};
      break;
    case ExprKind::where:
      return of_type_f32(1, 3);
    case ExprKind::reduce:
      return of_type_f32(0, 1);  // not the range
    case ExprKind::unary:
    case ExprKind::binary:
    case ExprKind::cast:
      break;
  }
  return of_type_f32(0, expr.args.size());
}

bool has_grad(const CheckedSpec& spec) {
  return std::ranges::any_of(spec.params, &ParamInfo::grad) ||
         std::ranges::any_of(spec.tensor_infos, &TensorInfo::grad);
}

void refuse_unreached(const CheckedSpec& spec, const Ast& ast, Findings& findings) {
  if (!has_grad(spec)) return;
  Names used, reached;
  for (const ExprPtr& hook : {spec.score_mod, spec.sink})
    if (hook) collect_reached(hook, reached);
  for (const ExprPtr& hook : {spec.score_mod, spec.mask_mod, spec.sink})
    if (hook) collect_all(hook, used);

  int param = 0, tensor = 0;
  for (const AstItem& item : ast.items) {
    const bool is_param = item.kind == ItemKind::param;
    if (!is_param && item.kind != ItemKind::tensor) continue;
    const int index = is_param ? param++ : tensor++;
    if (!item.has_grad || (is_param ? reached.params : reached.tensors).contains(index)) continue;
    if ((is_param ? used.params : used.tensors).contains(index)) {
      findings.error(item.grad_span,
                     fmt::format("no gradient reaches '{}': it stands only in masks, conditions, indices or "
                                 "what is rounded to a whole number",
                                 item.name),
                     "drop 'grad', or let score_mod or the sink compute with its value");
    } else {
      findings.error(
          item.grad_span,
          fmt::format("no gradient reaches '{}': neither score_mod nor the sink uses it", item.name),
          "drop 'grad', or use it");
    }
  }
}

}  // namespace fa
