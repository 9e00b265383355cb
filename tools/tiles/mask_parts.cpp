#include "tools/tiles/mask_parts.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/spec/check/check.h"
#include "compiler/spec/parse/ast.h"
#include "compiler/spec/print.h"
#include "fa/error.h"

namespace fa::tools {

namespace {

Op inverse(Op op) {
  switch (op) {
    case Op::lt:
      return Op::ge;
    case Op::le:
      return Op::gt;
    case Op::gt:
      return Op::le;
    case Op::ge:
      return Op::lt;
    case Op::eq:
      return Op::ne;
    default:
      return Op::eq;
  }
}

class Splitter {
 public:
  explicit Splitter(const CheckedSpec& spec) : ast_(*spec.ast) {}

  MaskPart run(const AstPtr& mask) {
    if (count_leaves(mask) <= kMostLeaves) return split(mask);
    MaskPart whole = describe(opened(mask));
    whole.kind = MaskPart::Kind::all;
    return whole;
  }

 private:
  static bool joins(const AstExpr& expr) {
    return expr.kind == AstKind::binary && (expr.op == Op::logical_and || expr.op == Op::logical_or);
  }
  static bool inverts(const AstExpr& expr) {
    return expr.kind == AstKind::unary && expr.op == Op::logical_not;
  }

  /// The expression that a let stands for.
  const AstPtr& opened(const AstPtr& expr) const {
    if (expr->kind == AstKind::name) {
      for (const AstItem& item : ast_.items)
        if (item.kind == ItemKind::let && item.name == expr->name) return opened(item.value);
    }
    return expr;
  }

  /// Up to kMostLeaves + 1. Lets that use one another twice have as many leaves as two to the number of lets,
  /// so that each is counted once.
  std::size_t count_leaves(const AstPtr& unopened) {
    const AstPtr& expr = opened(unopened);
    if (!joins(*expr) && !inverts(*expr)) return 1;
    if (const auto known = leaf_counts_.find(expr.get()); known != leaf_counts_.end()) return known->second;
    std::size_t count = 0;
    for (const AstPtr& arg : expr->args) count = std::min(count + count_leaves(arg), kMostLeaves + 1);
    return leaf_counts_[expr.get()] = count;
  }

  MaskPart split(const AstPtr& unopened) {
    const AstPtr& expr = opened(unopened);
    MaskPart part = describe(expr);
    if (joins(*expr)) {
      part.kind = expr->op == Op::logical_and ? MaskPart::Kind::all : MaskPart::Kind::any;
      for (const AstPtr& arg : expr->args) add(part, split(arg));
    } else if (inverts(*expr)) {
      part.kind = MaskPart::Kind::inverse;
      part.parts.push_back(split(expr->args[0]));
    } else {
      part.leaf = next_leaf_++;
      part.spec = with_mask(expr);
    }
    return part;
  }

  /// `a and (b and c)` is one conjunction of three.
  static void add(MaskPart& part, MaskPart inner) {
    if (inner.kind != part.kind) return part.parts.push_back(std::move(inner));
    std::move(inner.parts.begin(), inner.parts.end(), std::back_inserter(part.parts));
  }

  MaskPart describe(const AstPtr& expr) const {
    const Place place = ast_.source->place(expr->span);
    MaskPart part;
    part.text = print_expr(*expr);
    part.line = place.line;
    part.column = place.column;
    AstExpr turned = *expr;
    if (expr->kind == AstKind::binary && is_comparison(expr->op))
      turned.op = inverse(expr->op);
    else
      turned = {.kind = AstKind::unary, .op = Op::logical_not, .args = {expr}, .depth = expr->depth + 1};
    part.negated = print_expr(turned);
    return part;
  }

  std::shared_ptr<const CheckedSpec> with_mask(const AstPtr& expr) const {
    auto ast = std::make_shared<Ast>(ast_);
    std::erase_if(ast->items, [](const AstItem& item) { return item.kind == ItemKind::score_mod; });
    for (AstItem& item : ast->items) {
      if (item.kind == ItemKind::mask_mod) item.value = expr;
      item.has_grad = false;  // no gradient reaches what the score_mod alone reads
    }
    Findings findings(*ast->source);
    auto spec = check(ast, findings);
    if (spec == nullptr) throw InternalError("a part of a mask is no mask: " + print_expr(*expr));
    return spec;
  }

  const Ast& ast_;
  int next_leaf_ = 0;
  std::unordered_map<const AstExpr*, std::size_t> leaf_counts_;
};

void collect(const MaskPart& part, std::vector<const MaskPart*>& all) {
  if (part.kind == MaskPart::Kind::leaf) all.push_back(&part);
  for (const MaskPart& inner : part.parts) collect(inner, all);
}

/// A mask from a file has no text in the spec, so it is not taken apart.
MaskPart mask_of_file(const CheckedSpec& spec) {
  CheckedSpec alone = spec;
  alone.score_mod = nullptr;
  alone.score_from = {};
  MaskPart part;
  part.text = "mask_mod";
  part.negated = "not mask_mod";
  part.line = spec.mask_from.line;
  part.column = spec.mask_from.column;
  part.spec = std::make_shared<const CheckedSpec>(std::move(alone));
  part.leaf = 0;
  return part;
}

}  // namespace

MaskPart mask_parts(const CheckedSpec& spec) {
  if (!spec.mask_from.path.empty()) return mask_of_file(spec);
  return Splitter(spec).run(spec.ast->find(ItemKind::mask_mod)->value);
}

std::vector<const MaskPart*> leaves(const MaskPart& part) {
  std::vector<const MaskPart*> all;
  collect(part, all);
  return all;
}

}  // namespace fa::tools
