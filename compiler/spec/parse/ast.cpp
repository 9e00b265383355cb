// Comparing syntax trees, and the words of the language.
#include "compiler/spec/parse/ast.h"

#include <algorithm>
#include <array>

namespace fa {
namespace {

constexpr std::array<std::string_view, 12> kItemWords = {"attention", "head_dim", "head_dim_v", "dtype",
                                                         "scale",     "param",    "tensor",     "let",
                                                         "score_mod", "mask_mod", "sink",       "dropout"};

bool same(const AstPtr& a, const AstPtr& b) { return a == b || (a && b && fa::same(*a, *b)); }

bool same(const std::vector<AstPtr>& a, const std::vector<AstPtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AstPtr& x, const AstPtr& y) { return same(x, y); });
}

bool same(const AstItem& a, const AstItem& b) {
  const bool same_parameters =
      std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
                 [](const AstParameter& x, const AstParameter& y) { return x.name == y.name; });
  return a.kind == b.kind && a.name == b.name && a.type == b.type && same(a.extents, b.extents) &&
         same_parameters && same(a.value, b.value) && a.from.path == b.from.path && a.has_grad == b.has_grad;
}

std::vector<const AstItem*> in_order(const Ast& ast) {
  std::vector<const AstItem*> items;
  for (const AstItem& item : ast.items) items.push_back(&item);
  std::stable_sort(items.begin(), items.end(),
                   [](const AstItem* a, const AstItem* b) { return a->kind < b->kind; });
  return items;
}

}  // namespace

const AstItem* Ast::find(ItemKind kind) const {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const AstItem& i) { return i.kind == kind; });
  return found == items.end() ? nullptr : &*found;
}

std::string_view item_word(ItemKind kind) { return kItemWords[static_cast<std::size_t>(kind)]; }

std::optional<ItemKind> item_kind(std::string_view word) {
  const auto found = std::find(kItemWords.begin(), kItemWords.end(), word);
  if (found == kItemWords.end()) return std::nullopt;
  return static_cast<ItemKind>(found - kItemWords.begin());
}

int precedence(Op op) {
  switch (op) {
    case Op::logical_or:
      return Precedence::logical_or;
    case Op::logical_and:
      return Precedence::logical_and;
    case Op::logical_not:
      return Precedence::logical_not;
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne:
      return Precedence::comparison;
    case Op::bit_or:
      return Precedence::bit_or;
    case Op::bit_xor:
      return Precedence::bit_xor;
    case Op::bit_and:
      return Precedence::bit_and;
    case Op::shl:
    case Op::shr:
      return Precedence::shift;
    case Op::add:
    case Op::sub:
      return Precedence::sum;
    case Op::mul:
    case Op::div:
    case Op::mod:
      return Precedence::product;
    case Op::neg:
    case Op::bit_not:
      return Precedence::sign;
    case Op::power:
      return Precedence::power;
  }
  return Precedence::atom;
}

bool is_comparison(Op op) { return precedence(op) == Precedence::comparison; }

std::string_view op_text(Op op) {
  switch (op) {
    case Op::neg:
      return "-";
    case Op::logical_not:
      return "not";
    case Op::bit_not:
      return "~";
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::mod:
      return "%";
    case Op::shl:
      return "<<";
    case Op::shr:
      return ">>";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    case Op::lt:
      return "<";
    case Op::le:
      return "<=";
    case Op::gt:
      return ">";
    case Op::ge:
      return ">=";
    case Op::eq:
      return "==";
    case Op::ne:
      return "!=";
    case Op::logical_and:
      return "and";
    case Op::logical_or:
      return "or";
    case Op::power:
      return "**";
  }
  return "?";
}

std::string_view reduction_name(Reduction reduction) {
  constexpr std::array<std::string_view, 5> kNames = {"any", "all", "sum", "min", "max"};
  return kNames[static_cast<std::size_t>(reduction)];
}

bool same(const AstExpr& a, const AstExpr& b) {
  if (a.kind != b.kind || a.name != b.name || !same(a.args, b.args)) return false;
  switch (a.kind) {
    case AstKind::integer:
    case AstKind::boolean:
      return a.int_value == b.int_value;
    case AstKind::floating:
      return a.float_value == b.float_value;
    case AstKind::unary:
    case AstKind::binary:
      return a.op == b.op;
    case AstKind::reduce:
      return a.reduction == b.reduction;
    case AstKind::name:
    case AstKind::call:
    case AstKind::index:
      return true;
  }
  return false;
}

bool same(const Ast& a, const Ast& b) {
  const std::vector<const AstItem*> x = in_order(a), y = in_order(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const AstItem* i, const AstItem* j) { return same(*i, *j); });
}

}  // namespace fa
