// Calls, tensor reads and reductions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/spec/check/expr.h"
#include "compiler/spec/check/fold.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

std::string signature(const FunctionInfo& function) {
  if (function.func == Func::clamp) return "clamp(x, low, high)";
  if (function.func == Func::ceil_div) return "ceil_div(a, b)";
  if (function.func == Func::pow) return "pow(x, y)";
  if (function.func == Func::atan2) return "atan2(y, x)";
  if (function.max_args == 0) return fmt::format("{}(a, b, ...)", function.name);
  return fmt::format("{}(x)", function.name);
}

std::string counted(int count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

bool any_missing(const std::vector<Typed>& args) {
  return std::any_of(args.begin(), args.end(), [](const Typed& arg) { return !arg.expr; });
}

}  // namespace

Typed ExprChecker::call(const AstExpr& ast) {
  const bool is_cast = ast.name == "i32" || ast.name == "f32";
  const FunctionInfo* function = find_function(ast.name);
  if (const auto found = scope_.symbols.find(ast.name);
      found != scope_.symbols.end() && found->second.kind == Symbol::Kind::function)
    return call_user(ast, found->second);
  const bool is_composite = find_composite(ast.name) != nullptr;
  if (!is_cast && !is_composite && ast.name != "where" && function == nullptr) return call_unknown(ast);

  std::vector<Typed> args;
  for (const AstPtr& arg : ast.args) args.push_back(check(*arg));
  const bool is_unary = is_cast || is_composite;
  const int least = is_unary ? 1 : function != nullptr ? function->min_args : 3;
  const int most = is_unary ? 1 : function != nullptr ? function->max_args : 3;
  const int given = static_cast<int>(args.size());
  if (given < least || (most != 0 && given > most)) {
    const std::string form = is_unary              ? ast.name + "(x)"
                             : function != nullptr ? signature(*function)
                                                   : std::string("where(condition, a, b)");
    return error(ast.head_span,
                 fmt::format("'{}' takes {}{}, not {}", ast.name, most == 0 ? "at least " : "",
                             counted(least, "argument", "arguments"), given),
                 fmt::format("write {}", form));
  }
  if (any_missing(args)) return {};
  if (ast.name == "where") return call_where(ast, std::move(args));
  if (is_composite) return call_composite(ast, std::move(args[0]));
  if (!is_cast) return call_function(ast, std::move(args));
  const Type type = ast.name == "i32" ? Type::i32 : Type::f32;
  if (args[0].expr->type == type) return std::move(args[0]);
  return make(ast, {.kind = ExprKind::cast, .type = type}, std::move(args));
}

Typed ExprChecker::call_where(const AstExpr& ast, std::vector<Typed> args) {
  if (!need_condition(*ast.args[0], args[0], "'where'")) return {};
  const Type then_type = args[1].expr->type, else_type = args[2].expr->type;
  if ((then_type == Type::boolean) != (else_type == Type::boolean)) {
    return error(
        ast.head_span,
        fmt::format("'where' chooses between {} and {}", article_type(then_type), article_type(else_type)),
        "make both numbers or both conditions");
  }
  if (!unify(*ast.args[1], *ast.args[2], args[1], args[2])) return {};
  const Type type = args[1].expr->type;
  return make(ast, {.kind = ExprKind::where, .type = type}, std::move(args));
}

Typed ExprChecker::call_function(const AstExpr& ast, std::vector<Typed> args) {
  const FunctionInfo& function = *find_function(ast.name);
  const std::string who = fmt::format("'{}'", ast.name);
  bool fits = true;
  for (std::size_t i = 0; i < args.size(); ++i) {
    fits &= function.arguments == ArgumentKind::integer
                ? need_integer(*ast.args[i], args[i], who,
                               function.func == Func::ceil_div && args[i].expr->type == Type::f32
                                   ? "on floats write ceil(x / y)"
                                   : "")
                : need_number(*ast.args[i], args[i], who);
  }
  if (!fits) return {};
  if (function.func == Func::pow) return power(ast, std::move(args[0]), std::move(args[1]));
  const bool any_float =
      std::any_of(args.begin(), args.end(), [](const Typed& arg) { return arg.expr->type == Type::f32; });
  const bool rounds = function.func >= Func::floor && function.func <= Func::trunc;
  if (rounds && !any_float) {
    warning(ast.span, fmt::format("the {} of an i32 is itself", function.name),
            function.func == Func::floor  ? "drop it; `/` on two integers already rounds down"
            : function.func == Func::ceil ? "drop it; to divide and round up write ceil_div(a, b)"
                                          : "drop it");
    return std::move(args[0]);
  }
  const Type type = function.arguments == ArgumentKind::floating || any_float ? Type::f32 : Type::i32;
  for (std::size_t i = 0; type == Type::f32 && i < args.size(); ++i)
    args[i] = promote(*ast.args[i], std::move(args[i]));
  if (any_missing(args)) return {};

  const Expr node{.kind = ExprKind::call, .type = type, .func = function.func};
  if (function.max_args != 0) return make(ast, node, std::move(args));
  Typed folded = std::move(args[0]);  // min(a, b, c) is min(min(a, b), c)
  for (std::size_t i = 1; i < args.size() && folded.expr; ++i) {
    folded = make(ast, node, {std::move(folded), std::move(args[i])});
  }
  return folded;
}

Typed ExprChecker::call_unknown(const AstExpr& ast) {
  for (const AstPtr& arg : ast.args) check(*arg);  // for their own errors
  if (parameter(ast.name) != nullptr)
    return error(ast.head_span, fmt::format("'{}' is a parameter, not a function", ast.name));
  if (const auto later = scope_.later.find(ast.name); later != scope_.later.end())
    return too_early(ast, later->second);
  if (const auto found = scope_.symbols.find(ast.name); found != scope_.symbols.end()) {
    found->second.used = true;
    if (found->second.kind == Symbol::Kind::broken) return {};
    const bool tensor = found->second.kind == Symbol::Kind::tensor;
    return error(ast.head_span,
                 fmt::format("'{}' is {}, not a function", ast.name,
                             tensor                                      ? "a tensor"
                             : found->second.kind == Symbol::Kind::param ? "a param"
                                                                         : "a let"),
                 tensor ? fmt::format("read it with {}[...]", ast.name) : "");
  }
  if (ast.name == "bool") return error(ast.head_span, "there is no cast to bool", "compare: x != 0");
  if (find_dtype(ast.name)) {
    return error(ast.head_span, fmt::format("there is no cast to {}", ast.name),
                 "expressions are bool, i32 or f32; casts are i32(x) and f32(x)");
  }
  if (is_reserved(ast.name)) return error(ast.head_span, fmt::format("'{}' is not a function", ast.name));
  if (const std::string_view form = written_out(ast.name); !form.empty())
    return error(ast.head_span, fmt::format("there is no '{}'", ast.name), fmt::format("write {}", form));
  std::vector<std::string_view> names = callable_names();
  for (const auto& [name, symbol] : scope_.symbols)
    if (symbol.kind == Symbol::Kind::function) names.push_back(name);
  const std::string near = closest(ast.name, names);
  return error(ast.head_span, near.empty()
                                  ? fmt::format("unknown function '{}'", ast.name)
                                  : fmt::format("unknown function '{}'; did you mean '{}'?", ast.name, near));
}

Typed ExprChecker::read(const AstExpr& ast) {
  std::vector<Typed> indices;
  for (const AstPtr& arg : ast.args) indices.push_back(check(*arg));

  const auto found = scope_.symbols.find(ast.name);
  if (found == scope_.symbols.end()) {
    const bool known =
        is_reserved(ast.name) || parameter(ast.name) != nullptr ||
        std::any_of(loops_.begin(), loops_.end(), [&](const Loop& l) { return l.name == ast.name; });
    if (!known) return unknown(ast);
    return error(ast.head_span, fmt::format("'{}' is not a tensor", ast.name), "only tensors are indexed");
  }
  Symbol& tensor = found->second;
  tensor.used = true;
  if (tensor.kind == Symbol::Kind::broken) return {};
  if (tensor.kind != Symbol::Kind::tensor) {
    return error(ast.head_span,
                 fmt::format("'{}' is a {}, not a tensor", ast.name,
                             tensor.kind == Symbol::Kind::param      ? "param"
                             : tensor.kind == Symbol::Kind::function ? "function"
                                                                     : "let"),
                 "only tensors are indexed");
  }
  if (!may_use(context_.room, tensor.kind)) return not_here(ast);
  if (static_cast<int>(indices.size()) != tensor.rank) {
    return error(ast.head_span, fmt::format("tensor '{}' has {}; this reads it with {}", ast.name,
                                            counted(tensor.rank, "dimension", "dimensions"),
                                            counted(static_cast<int>(indices.size()), "index", "indices")));
  }
  bool fits = !any_missing(indices);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].expr) fits &= need_integer(*ast.args[i], indices[i], "an index");
  }
  if (!fits) return {};
  return make(ast, {.kind = ExprKind::read, .type = tensor.type, .index = tensor.index}, std::move(indices));
}

}  // namespace fa
