#include "tests/generated/shrink.h"

#include <memory>
#include <vector>

#include "compiler/spec/parse/parser.h"
#include "compiler/spec/print.h"
#include "fa/spec.h"

namespace fa::test {
namespace {

int count_nodes(const AstExpr& expr) {
  int nodes = 1;
  for (const AstPtr& arg : expr.args) nodes += count_nodes(*arg);
  return nodes;
}

/// The tree with its node number `at` (in the order they are written) replaced; counts `at` down.
AstPtr replaced(const AstPtr& expr, int& at, const std::function<AstPtr(const AstPtr&)>& by) {
  if (at-- == 0) return by(expr);
  auto copy = std::make_shared<AstExpr>(*expr);
  for (AstPtr& arg : copy->args) {
    if (at < 0) break;
    arg = replaced(arg, at, by);
  }
  return copy;
}

/// What may replace a node: its parts, then literals. The checker decides which of them fit its type.
std::vector<AstPtr> simpler(const AstPtr& node) {
  std::vector<AstPtr> result = node->args;
  if (node->kind == AstKind::integer || node->kind == AstKind::floating || node->kind == AstKind::boolean)
    return result;
  const auto literal = [&](AstExpr expr) {
    result.push_back(std::make_shared<const AstExpr>(std::move(expr)));
  };
  literal({.kind = AstKind::integer, .int_value = 1});
  literal({.kind = AstKind::floating, .float_value = 0.5});
  literal({.kind = AstKind::boolean, .int_value = 1});
  return result;
}

/// Every spec one step smaller.
std::vector<Ast> candidates(const Ast& ast) {
  std::vector<Ast> result;
  for (std::size_t i = ast.items.size(); i-- > 1;) {
    Ast without = ast;
    without.items.erase(without.items.begin() + static_cast<std::ptrdiff_t>(i));
    result.push_back(std::move(without));
  }
  for (std::size_t i = 1; i < ast.items.size(); ++i) {
    const AstItem& item = ast.items[i];
    if (!item.value) continue;
    if (item.kind == ItemKind::tensor) {
      Ast without = ast;
      without.items[i].value = nullptr;
      result.push_back(std::move(without));
    }
    const int nodes = count_nodes(*item.value);
    for (int node = 0; node < nodes; ++node) {
      std::vector<AstPtr> choices;
      int at = node;
      replaced(item.value, at, [&](const AstPtr& found) {
        choices = simpler(found);
        return found;
      });
      for (const AstPtr& choice : choices) {
        Ast changed = ast;
        at = node;
        changed.items[i].value = replaced(item.value, at, [&](const AstPtr&) { return choice; });
        result.push_back(std::move(changed));
      }
    }
  }
  return result;
}

Ast parse(const std::string& text, const std::string& file) {
  auto source = std::make_shared<const SourceText>(file, text);
  Findings findings(*source);
  return parse_spec(source, findings);
}

bool is_accepted(const std::string& text, const std::string& file) {
  try {
    Spec::parse(text, file);
    return true;
  } catch (const SpecError&) {
    return false;
  }
}

}  // namespace

std::string shrink(const std::string& text, const std::string& file,
                   const std::function<bool(const std::string&)>& fails, int most) {
  std::string smallest = text;
  for (bool again = true; again && most > 0;) {
    again = false;
    for (const Ast& candidate : candidates(parse(smallest, file))) {
      const std::string smaller = print_spec(candidate);
      if (smaller.size() >= smallest.size() || !is_accepted(smaller, file)) continue;
      if (--most < 0) break;
      if (!fails(smaller)) continue;
      smallest = smaller;
      again = true;
      break;
    }
  }
  return smallest;
}

}  // namespace fa::test
