// Functions of the spec, `let near(x, y) = ...`: each call checks the body again with its own arguments,
// which are shared nodes, so what comes out is the expression that a let would have made.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/spec/check/expr.h"
#include "compiler/spec/print.h"

namespace fa {

const Typed* ExprChecker::parameter(std::string_view name) const {
  if (frames_.empty()) return nullptr;
  const std::vector<AstParameter>& parameters = frames_.back().function->parameters;
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const AstParameter& parameter) { return parameter.name == name; });
  if (found == parameters.end()) return nullptr;
  return &frames_.back().args[static_cast<std::size_t>(found - parameters.begin())];
}

// " (in 'near', called on line 9)": the innermost call first. A long list is cut at its end.
std::string ExprChecker::called_from() const {
  constexpr int kShown = 3;
  std::string text;
  int shown = 0;
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && frame->call != nullptr; ++frame) {
    if (++shown > kShown) break;
    text += fmt::format("{}in '{}', called on line {}", text.empty() ? " (" : ", ", frame->function->name,
                        source_.place(frame->call->head_span).line);
  }
  return text.empty() ? text : text + ")";
}

// Checks the size and the depth of a body, those of the calls inside it included. A finding stands at the
// call in the spec's own line.
bool ExprChecker::within_budget() {
  const auto outermost =
      std::find_if(frames_.begin(), frames_.end(), [](const Frame& frame) { return frame.call != nullptr; });
  if (outermost == frames_.end()) return true;         // a declaration: no larger than its text
  if (scope_.num_inlined > kMaxInlined) return false;  // reported
  const Span span = outermost->call->head_span;
  if (nesting_ > kMaxDepth) {
    scope_.num_inlined = kMaxInlined + 1;
    findings_.error(
        span, fmt::format("the expression nests more than {} deep, lets and functions included", kMaxDepth));
    return false;
  }
  if (++scope_.num_inlined <= kMaxInlined) return true;
  findings_.error(
      span, fmt::format("with this call, functions come to more than {} operations", kMaxInlined),
      "functions that call one another twice double at each level: pass on what was computed once");
  return false;
}

Typed ExprChecker::inlined(const Frame& frame) {
  frames_.push_back(frame);
  frames_.back().loops_outside = std::exchange(loops_, {});
  Typed value = check(*frame.function->value);
  loops_ = std::move(frames_.back().loops_outside);
  frames_.pop_back();
  return value;
}

void ExprChecker::check_body(const AstItem& function) {
  Frame frame{.function = &function, .call = nullptr, .args = {}, .loops_outside = {}};
  frame.args.resize(function.parameters.size());
  inlined(frame);
}

Typed ExprChecker::call_user(const AstExpr& ast, Symbol& function) {
  function.used = true;
  if (!may_use(context_.room, function.kind)) return not_here(ast);
  Frame frame{.function = function.item, .call = &ast, .args = {}, .loops_outside = {}};
  for (const AstPtr& arg : ast.args) frame.args.push_back(check(*arg));
  const std::size_t wanted = function.item->parameters.size();
  if (frame.args.size() != wanted) {
    return error(ast.head_span,
                 fmt::format("'{}' takes {} argument{}, not {}", ast.name, wanted, wanted == 1 ? "" : "s",
                             frame.args.size()),
                 fmt::format("write {}{}", ast.name, parameter_list(*function.item)));
  }
  const bool known =
      std::all_of(frame.args.begin(), frame.args.end(), [](const Typed& arg) { return arg.expr != nullptr; });
  return known ? inlined(frame) : Typed{};
}

}  // namespace fa
