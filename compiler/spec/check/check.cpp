// Checks a whole spec: which items must be there, each item in turn, and what nothing uses.
#include "compiler/spec/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/spec/check/gradient.h"
#include "compiler/spec/check/item.h"
#include "compiler/spec/check/scope.h"
#include "compiler/spec/print.h"

namespace fa {
namespace {

constexpr int kDefaultHeadDim = 128;

// The same items, with every default stated: what is checked, and what the spec's own text shows.
Ast stated(const Ast& ast) {
  Ast full = ast;
  const auto add = [&](ItemKind kind, AstPtr value, std::string type) {
    if (full.find(kind) != nullptr) return;
    full.items.push_back({.kind = kind, .type = std::move(type), .value = std::move(value)});
  };
  const auto node = [](AstExpr expr) { return std::make_shared<const AstExpr>(std::move(expr)); };
  const AstPtr head_dim = node({.kind = AstKind::name, .name = "head_dim"});
  const AstPtr root = node({.kind = AstKind::call, .name = "sqrt", .args = {head_dim}});
  const AstPtr one = node({.kind = AstKind::integer, .int_value = 1});
  add(ItemKind::head_dim, node({.kind = AstKind::integer, .int_value = kDefaultHeadDim}), {});
  add(ItemKind::dtype, nullptr, "bf16");
  add(ItemKind::scale, node({.kind = AstKind::binary, .op = Op::div, .args = {one, root}}), {});
  return full;
}

void refuse_repeats(const Ast& ast, Findings& findings) {
  for (const AstItem& item : ast.items) {
    const AstItem* first = ast.find(item.kind);
    if (first == &item || declares(item)) continue;
    findings.error(item.word_span,
                   fmt::format("'{}' stands twice; first on line {}", item_word(item.kind),
                               ast.source->place(first->word_span).line),
                   "keep one of them");
  }
}

void need_attention_first(const Ast& ast, Findings& findings) {
  const AstItem* attention = ast.find(ItemKind::attention);
  // A line the parser refused may have been meant to come later, or to be the attention itself.
  const auto first =
      std::find_if(ast.items.begin(), ast.items.end(), [](const AstItem& item) { return !item.broken; });
  if (attention == nullptr) {
    findings.error(ast.items.front().word_span, "a spec begins with `attention NAME`");
  } else if (attention > ast.items.data() + (first - ast.items.begin())) {
    findings.error(attention->word_span, "'attention' must be the first item", "move the line to the top");
  }
}

// The two are constants of every other item, wherever they stand.
void head_dims(const Ast& ast, ItemChecker& items, Scope& scope, CheckedSpec& spec) {
  scope.head_dim = scope.head_dim_v = kDefaultHeadDim;
  const AstItem* item = ast.find(ItemKind::head_dim);
  if (!item->broken) scope.head_dim = items.head_dim(*item);
  scope.head_dim_v = scope.head_dim;
  item = ast.find(ItemKind::head_dim_v);
  if (item != nullptr && !item->broken) scope.head_dim_v = items.head_dim(*item);
  spec.head_dim = scope.head_dim;
  spec.head_dim_v = scope.head_dim_v;
}

// What a hook from a file uses is not known here, so it counts as using every param and tensor.
void warn_unused(const Scope& scope, bool has_file, Findings& findings) {
  for (const auto& [name, symbol] : scope.symbols) {
    if (symbol.used || symbol.kind == Symbol::Kind::broken) continue;
    const bool own = symbol.kind == Symbol::Kind::let || symbol.kind == Symbol::Kind::function;
    if (has_file && !own) continue;
    const char* kind = symbol.kind == Symbol::Kind::param      ? "param"
                       : symbol.kind == Symbol::Kind::tensor   ? "tensor"
                       : symbol.kind == Symbol::Kind::function ? "function"
                                                               : "let";
    findings.warning(symbol.span, fmt::format("{} '{}' is never used", kind, name));
  }
}

}  // namespace

std::shared_ptr<const CheckedSpec> check(const std::shared_ptr<const Ast>& ast, Findings& findings) {
  if (ast->items.empty()) {
    // Where every line has been refused already, this finding would only repeat that.
    if (!findings.has_errors()) {
      findings.error({.begin = 0, .end = 0}, "the spec is empty", "begin with `attention NAME`");
    }
    return nullptr;
  }
  const Ast full = stated(*ast);
  CheckedSpec spec;
  Scope scope;
  ItemChecker items(*full.source, findings, scope, spec);
  need_attention_first(full, findings);
  refuse_repeats(full, findings);
  head_dims(full, items, scope, spec);
  for (const AstItem& item : full.items) {
    if (declares(item) && !item.name.empty()) scope.later.try_emplace(item.name, item.name_span);
  }
  for (const AstItem& item : full.items) items.check(item);
  const bool has_file = std::any_of(full.items.begin(), full.items.end(),
                                    [](const AstItem& item) { return !item.from.path.empty(); });
  warn_unused(scope, has_file, findings);
  // What a hook from a file reaches is known once it is imported: compiler/derive/ asks then.
  if (!has_file && !findings.has_errors()) refuse_unreached(spec, full, findings);
  if (findings.has_errors()) return nullptr;

  spec.file = full.source->file();
  spec.text = print_spec(full);
  spec.ast = ast;
  spec.warnings = findings.warnings();
  return std::make_shared<const CheckedSpec>(std::move(spec));
}

}  // namespace fa
