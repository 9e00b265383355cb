// Names, literals, operators. Calls, reads and reductions are in call.cpp.
#include "compiler/spec/check/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/spec/check/fold.h"
#include "compiler/spec/print.h"
#include "compiler/spec/words.h"

namespace fa {

namespace {

constexpr std::string_view kMaskRemedy =
    "whether a key is kept depends on where it is; to drop low scores use score_mod = where(..., score, "
    "-inf)";

}  // namespace

std::string_view article_type(Type type) {
  return type == Type::boolean ? "a bool" : type == Type::i32 ? "an i32" : "an f32";
}

Typed ExprChecker::error(Span span, std::string message, std::string remedy) {
  findings_.error(span, std::move(message) + called_from(), std::move(remedy));
  return {};
}

// A function's body is checked at its declaration and at each call; only the declaration warns.
void ExprChecker::warning(Span span, std::string message, std::string remedy) {
  if (frames_.empty() || frames_.back().call == nullptr)
    findings_.warning(span, std::move(message), std::move(remedy));
}

Typed ExprChecker::make(const AstExpr& ast, Expr node, std::vector<Typed> args) {
  Typed made;
  for (Typed& arg : args) {
    if (!arg.expr) return {};
    made.depth = std::max(made.depth, arg.depth + 1);
    made.steps = std::max(made.steps, arg.steps);
    made.uses_score = made.uses_score || arg.uses_score;
    node.args.push_back(std::move(arg.expr));
  }
  if (made.depth > kMaxDepth) {
    return error(
        ast.head_span,
        fmt::format("the expression nests more than {} deep, lets and functions included", kMaxDepth));
  }
  const Place place = source_.place(ast.head_span);
  node.line = place.line;
  node.column = place.column;
  made.expr = fold(std::move(node));
  if (is_literal(*made.expr)) made.depth = 1;
  return made;
}

Typed ExprChecker::literal(const AstExpr& ast, const ExprPtr& value) { return make(ast, *value, {}); }

Typed ExprChecker::operation(const AstExpr& ast, Op op, Typed left, Typed right) {
  if (!left.expr) return {};
  const Type type = left.expr->type;
  return make(ast, {.kind = ExprKind::binary, .type = type, .op = op}, {std::move(left), std::move(right)});
}

Typed ExprChecker::applied(const AstExpr& ast, Func func, std::vector<Typed> args) {
  if (!args[0].expr) return {};
  const Type type = args[0].expr->type;
  return make(ast, {.kind = ExprKind::call, .type = type, .func = func}, std::move(args));
}

Typed ExprChecker::promote(const AstExpr& ast, Typed value) {
  if (!value.expr || value.expr->type == Type::f32) return value;
  return make(ast, {.kind = ExprKind::cast, .type = Type::f32}, {std::move(value)});
}

Typed ExprChecker::check(const AstExpr& ast) {
  struct Nesting {
    explicit Nesting(int& count) : at(++count) {}
    ~Nesting() { --at; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    int& at;
  };
  const Nesting nesting(nesting_);
  if (!frames_.empty() && !within_budget()) return {};
  switch (ast.kind) {
    case AstKind::integer:
      return integer(ast, false, ast.span);
    case AstKind::floating:
      return floating(ast);
    case AstKind::boolean:
      return literal(ast, make_bool(ast.int_value != 0));
    case AstKind::name:
      return name(ast);
    case AstKind::unary:
      return unary(ast);
    case AstKind::binary:
      return binary(ast);
    case AstKind::call:
      return call(ast);
    case AstKind::index:
      return read(ast);
    case AstKind::reduce:
      return reduce(ast);
  }
  return {};
}

Typed ExprChecker::integer(const AstExpr& ast, bool negated, Span span) {
  const std::string_view text = source_.text(ast.head_span);
  const auto top = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  if (ast.int_value > top + (negated ? 1 : 0)) {
    const bool pattern = text.starts_with("0x") || text.starts_with("0b");
    return error(span, fmt::format("{}{} does not fit an i32", negated ? "-" : "", text),
                 pattern ? "with the top bit set, write the complement: ~0 has all bits set"
                         : "an i32 goes from -2147483648 to 2147483647");
  }
  const auto value = static_cast<std::int64_t>(ast.int_value);
  return literal(ast, make_int(static_cast<std::int32_t>(negated ? -value : value)));
}

Typed ExprChecker::floating(const AstExpr& ast) {
  const double value = ast.float_value;
  const auto rounded = static_cast<float>(value);
  if (std::isfinite(value) && (std::isinf(rounded) || (value != 0 && rounded == 0))) {
    return error(ast.span, fmt::format("'{}' does not fit an f32", source_.text(ast.span)),
                 "an f32 goes from 1.4e-45 to 3.4e38");
  }
  return literal(ast, make_float(value));
}

Typed ExprChecker::name(const AstExpr& ast) {
  const auto loop =
      std::find_if(loops_.begin(), loops_.end(), [&](const Loop& l) { return l.name == ast.name; });
  if (loop != loops_.end()) {
    return make(ast, {.kind = ExprKind::loop_var, .type = Type::i32, .index = loop->id}, {});
  }
  if (const Typed* argument = parameter(ast.name)) return *argument;
  if (const auto found = scope_.symbols.find(ast.name); found != scope_.symbols.end()) {
    return symbol(ast, found->second);
  }
  return builtin(ast);
}

Typed ExprChecker::builtin(const AstExpr& ast) {
  if (ast.name == "head_dim") return literal(ast, make_int(scope_.head_dim));
  if (ast.name == "head_dim_v") return literal(ast, make_int(scope_.head_dim_v));
  const BuiltinInfo* found = find_builtin(ast.name);
  if (found == nullptr) return unknown(ast);
  if (!may_use(context_.room, found->builtin, context_.rank)) {
    if (found->builtin == Builtin::score && context_.room == Room::mask_mod) {
      return error(ast.head_span, "mask_mod may not use the score", std::string(kMaskRemedy));
    }
    if (found->builtin >= Builtin::i0 && context_.room == Room::example) {
      return error(ast.head_span, fmt::format("the tensor has {} dimension{}, so there is no '{}'",
                                              context_.rank, context_.rank == 1 ? "" : "s", ast.name));
    }
    if (found->builtin >= Builtin::i0) {
      return error(ast.head_span, fmt::format("'{}' stands only in the example of a tensor", ast.name));
    }
    return not_here(ast);
  }
  Typed made = make(ast, {.kind = ExprKind::builtin, .type = found->type, .builtin = found->builtin}, {});
  made.uses_score = found->builtin == Builtin::score;
  return made;
}

Typed ExprChecker::not_here(const AstExpr& ast) {
  return error(ast.head_span, fmt::format("{} may not use '{}'", context_.what, ast.name),
               fmt::format("it may use {}", room_names(context_.room)));
}

Typed ExprChecker::symbol(const AstExpr& ast, Symbol& found) {
  found.used = true;
  if (!may_use(context_.room, found.kind)) return not_here(ast);
  switch (found.kind) {
    case Symbol::Kind::broken:
      return {};
    case Symbol::Kind::param:
      return make(ast, {.kind = ExprKind::param, .type = found.type, .index = found.index}, {});
    case Symbol::Kind::tensor:
      return error(ast.span, fmt::format("tensor '{}' is read one element at a time", ast.name),
                   fmt::format("write {}[...] with {} {}", ast.name, found.rank,
                               found.rank == 1 ? "index" : "indices"));
    case Symbol::Kind::function:
      return error(ast.span, fmt::format("'{}' is a function", ast.name),
                   fmt::format("call it: {}{}", ast.name, parameter_list(*found.item)));
    case Symbol::Kind::let:
      break;
  }
  if (context_.room == Room::mask_mod && found.value.uses_score) {
    return error(ast.head_span, fmt::format("mask_mod may not use '{}': it depends on the score", ast.name),
                 std::string(kMaskRemedy));
  }
  return found.value;
}

Typed ExprChecker::too_early(const AstExpr& ast, Span declared) {
  if (declared.begin < ast.span.begin) {
    const bool function = !frames_.empty() && frames_.back().function->name == ast.name;
    return error(ast.head_span, fmt::format("'{}' is used in its own declaration", ast.name),
                 function ? "a function does not call itself; to repeat something write a reduction" : "");
  }
  return error(
      ast.head_span,
      fmt::format("'{}' is used before its declaration on line {}", ast.name, source_.place(declared).line),
      "move the declaration above its first use");
}

Typed ExprChecker::unknown(const AstExpr& ast) {
  if (const auto later = scope_.later.find(ast.name); later != scope_.later.end())
    return too_early(ast, later->second);
  const std::vector<std::string_view> callables = callable_names();
  if (std::find(callables.begin(), callables.end(), ast.name) != callables.end()) {
    return error(ast.head_span, fmt::format("'{}' is a function", ast.name),
                 fmt::format("call it: {}(...)", ast.name));
  }
  if (is_reserved(ast.name)) {
    return error(ast.head_span, fmt::format("'{}' is a word of the language, not a value", ast.name));
  }
  if (const std::string near = closest(ast.name, visible_names()); !near.empty()) {
    return error(ast.head_span, fmt::format("unknown name '{}'; did you mean '{}'?", ast.name, near));
  }
  if (context_.room == Room::constant) return not_here(ast);
  return error(ast.head_span, fmt::format("unknown name '{}'", ast.name),
               fmt::format("declare it above: `param {0} : i32 = ...`, `tensor {0} : ...` or `let {0} = ...`",
                           ast.name));
}

std::vector<std::string_view> ExprChecker::visible_names() const {
  std::vector<std::string_view> names;
  for (const Loop& loop : loops_) names.push_back(loop.name);
  if (!frames_.empty())
    for (const AstParameter& parameter : frames_.back().function->parameters) names.push_back(parameter.name);
  for (const auto& [name, symbol] : scope_.symbols) {
    if (may_use(context_.room, symbol.kind)) names.push_back(name);
  }
  for (const BuiltinInfo& builtin : builtins()) {
    if (may_use(context_.room, builtin.builtin, context_.rank)) names.push_back(builtin.name);
  }
  for (const std::string_view word : {"head_dim_v", "true", "false", "inf"}) names.push_back(word);
  return names;
}

bool ExprChecker::need_number(const AstExpr& ast, const Typed& value, std::string_view who) {
  if (value.expr->type != Type::boolean) return true;
  error(ast.span, fmt::format("{} needs a number; this is a bool", who), "write where(condition, 1, 0)");
  return false;
}

bool ExprChecker::need_integer(const AstExpr& ast, const Typed& value, std::string_view who,
                               std::string_view remedy) {
  const Type type = value.expr->type;
  if (type == Type::i32) return true;
  const std::string_view usual =
      type == Type::f32 ? "i32(x) rounds toward zero" : "write where(condition, 1, 0)";
  error(ast.span, fmt::format("{} needs an i32; this is {}", who, article_type(type)),
        std::string(remedy.empty() ? usual : remedy));
  return false;
}

bool ExprChecker::need_condition(const AstExpr& ast, const Typed& value, std::string_view who) {
  if (value.expr->type == Type::boolean) return true;
  error(ast.span, fmt::format("{} needs a bool; this is {}", who, article_type(value.expr->type)),
        "compare it: x != 0");
  return false;
}

bool ExprChecker::unify(const AstExpr& left_ast, const AstExpr& right_ast, Typed& left, Typed& right) {
  if (left.expr->type == right.expr->type) return true;
  left = promote(left_ast, std::move(left));
  right = promote(right_ast, std::move(right));
  return left.expr && right.expr;
}

Typed ExprChecker::unary(const AstExpr& ast) {
  const AstExpr& operand = *ast.args[0];
  const std::string who = fmt::format("'{}'", op_text(ast.op));
  // -2147483648 is an i32, though 2147483648 alone is not.
  if (ast.op == Op::neg && operand.kind == AstKind::integer) return integer(operand, true, ast.span);
  Typed value = check(operand);
  if (!value.expr) return {};
  switch (ast.op) {
    case Op::logical_not:
      if (!need_condition(operand, value, who)) return {};
      break;
    case Op::bit_not: {
      const bool condition = value.expr->type == Type::boolean;
      if (!need_integer(operand, value, who, condition ? "on a condition write `not`" : "")) return {};
      break;
    }
    default:
      if (!need_number(operand, value, who)) return {};
  }
  const Type type = value.expr->type;
  return make(ast, {.kind = ExprKind::unary, .type = type, .op = ast.op}, {std::move(value)});
}

Typed ExprChecker::binary(const AstExpr& ast) {
  Typed left = check(*ast.args[0]);
  Typed right = check(*ast.args[1]);
  if (!left.expr || !right.expr) return {};
  if (ast.op == Op::logical_and || ast.op == Op::logical_or) {
    const std::string who = fmt::format("'{}'", op_text(ast.op));
    const bool left_fits = need_condition(*ast.args[0], left, who);
    if (!need_condition(*ast.args[1], right, who) || !left_fits) return {};
    return make(ast, {.kind = ExprKind::binary, .type = Type::boolean, .op = ast.op},
                {std::move(left), std::move(right)});
  }
  if (is_comparison(ast.op)) return compare(ast, std::move(left), std::move(right));
  if (ast.op == Op::power) {
    const bool fits = need_number(*ast.args[0], left, "'**'");
    if (!need_number(*ast.args[1], right, "'**'") || !fits) return {};
    return power(ast, std::move(left), std::move(right));
  }
  return arithmetic(ast, std::move(left), std::move(right));
}

Typed ExprChecker::compare(const AstExpr& ast, Typed left, Typed right) {
  const bool left_bool = left.expr->type == Type::boolean, right_bool = right.expr->type == Type::boolean;
  const bool equality = ast.op == Op::eq || ast.op == Op::ne;
  if (left_bool != right_bool) {
    return error(ast.head_span,
                 fmt::format("'{}' compares {} with {}", op_text(ast.op), article_type(left.expr->type),
                             article_type(right.expr->type)),
                 "make the condition a number: where(condition, 1, 0)");
  }
  if (left_bool && !equality) {
    return error(ast.head_span, fmt::format("'{}' has no meaning on two bools", op_text(ast.op)),
                 "combine them with and, or, not, == and !=");
  }
  if (!unify(*ast.args[0], *ast.args[1], left, right)) return {};
  return make(ast, {.kind = ExprKind::binary, .type = Type::boolean, .op = ast.op},
              {std::move(left), std::move(right)});
}

Typed ExprChecker::arithmetic(const AstExpr& ast, Typed left, Typed right) {
  const AstExpr &left_ast = *ast.args[0], &right_ast = *ast.args[1];
  const std::string who = fmt::format("'{}'", op_text(ast.op));
  const bool bits = ast.op >= Op::shl && ast.op <= Op::bit_xor;
  if (bits || ast.op == Op::mod) {
    std::string_view left_remedy, right_remedy;
    if (ast.op == Op::mod) {
      // The remedy for floats helps only where a float is meant.
      left_remedy = left.expr->type == Type::f32 ? "on floats write x - floor(x / y) * y" : "";
      right_remedy = right.expr->type == Type::f32 ? "on floats write x - floor(x / y) * y" : "";
    } else if (left.expr->type == Type::boolean && right.expr->type == Type::boolean) {
      left_remedy = ast.op == Op::bit_and   ? "on conditions write `and`"
                    : ast.op == Op::bit_or  ? "on conditions write `or`"
                    : ast.op == Op::bit_xor ? "on conditions write `!=`"
                                            : "";
    }
    if (!need_integer(left_ast, left, who, left_remedy) || !need_integer(right_ast, right, who, right_remedy))
      return {};
  } else if (!need_number(left_ast, left, who) || !need_number(right_ast, right, who)) {
    return {};
  }
  const bool written = left_ast.kind == AstKind::integer && right_ast.kind == AstKind::integer;
  if (ast.op == Op::div && written && right_ast.int_value != 0 &&
      left_ast.int_value % right_ast.int_value != 0) {
    warning(ast.span,
            fmt::format("{} / {} is {}: `/` on two integers rounds down", left_ast.int_value,
                        right_ast.int_value, left_ast.int_value / right_ast.int_value),
            fmt::format("for the fraction write {}.0 / {}", left_ast.int_value, right_ast.int_value));
  }
  if (!unify(left_ast, right_ast, left, right)) return {};
  const Type type = left.expr->type;
  return make(ast, {.kind = ExprKind::binary, .type = type, .op = ast.op},
              {std::move(left), std::move(right)});
}

}  // namespace fa
