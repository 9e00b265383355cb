// What each item must be.
#include "compiler/spec/check/item.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_set>
#include <utility>

#include "compiler/spec/check/expr.h"
#include "compiler/spec/check/fold.h"
#include "compiler/spec/print.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

constexpr int kFallbackHeadDim = 128;
constexpr int kMaxHeadDim = 256;
constexpr int kHeadDimStep = 8;

// A literal's value as the f32 it becomes.
double as_f32(const Expr& literal) {
  return literal.type == Type::f32 ? literal.float_value : static_cast<float>(literal.int_value);
}

// A part of the expression that differs within a head (the score, or an index of the element); null where
// there is none.
const Expr* element_part(const Expr& expr, std::unordered_set<const Expr*>& seen) {
  if (!seen.insert(&expr).second) return nullptr;
  const bool is_element =
      expr.builtin == Builtin::score || expr.builtin == Builtin::q_idx || expr.builtin == Builtin::kv_idx;
  if (expr.kind == ExprKind::builtin && is_element) return &expr;
  for (const ExprPtr& arg : expr.args)
    if (const Expr* part = element_part(*arg, seen)) return part;
  return nullptr;
}

}  // namespace

bool declares(const AstItem& item) {
  return item.kind == ItemKind::param || item.kind == ItemKind::tensor || item.kind == ItemKind::let;
}

void ItemChecker::check(const AstItem& item) {
  if (item.broken) {
    // The name counts as known, so that one error does not cause a second one.
    if (declares(item) && !item.name.empty()) declare(item, {});
    return;
  }
  switch (item.kind) {
    case ItemKind::attention:
      return attention(item);
    case ItemKind::head_dim:
    case ItemKind::head_dim_v:
      return;
    case ItemKind::dtype:
      return dtype(item);
    case ItemKind::scale:
      return scale(item);
    case ItemKind::param:
      return param(item);
    case ItemKind::tensor:
      return tensor(item);
    case ItemKind::let:
      return let(item);
    case ItemKind::score_mod:
      return score_mod(item);
    case ItemKind::mask_mod:
      return mask_mod(item);
    case ItemKind::sink:
      return sink(item);
    case ItemKind::dropout:
      return dropout(item);
  }
}

Typed ItemChecker::expression(const AstExpr& ast, Room room) {
  return ExprChecker(scope_, source_, findings_, {.room = room}).check(ast);
}

// The literal number; reports and returns null where it is something else.
ExprPtr ItemChecker::constant(const AstExpr& ast, std::string_view what) {
  const Typed value =
      ExprChecker(scope_, source_, findings_, {.room = Room::constant, .what = what}).check(ast);
  if (!value.expr || (is_literal(*value.expr) && value.expr->type != Type::boolean)) return value.expr;
  findings_.error(ast.span, fmt::format("{} must be a constant number", what));
  return nullptr;
}

int ItemChecker::head_dim(const AstItem& item) {
  const std::string_view word = item_word(item.kind);
  const ExprPtr value = constant(*item.value, word);
  if (!value) return kFallbackHeadDim;
  if (value->type != Type::i32) {
    findings_.error(item.value->span, fmt::format("{} must be an integer", word),
                    fmt::format("write `{} 128`", word));
    return kFallbackHeadDim;
  }
  const std::int64_t d = value->int_value;
  if (d >= 1 && d <= kMaxHeadDim && d % kHeadDimStep == 0) return static_cast<int>(d);
  findings_.error(item.value->span, fmt::format("{} is {}; it must be a multiple of {} from {} to {}", word,
                                                d, kHeadDimStep, kHeadDimStep, kMaxHeadDim));
  return kFallbackHeadDim;
}

void ItemChecker::name_length(const AstItem& item) {
  if (item.name.size() <= kMaxNameLength) return;
  findings_.error(item.name_span, fmt::format("the name is {} characters long; at most {} are allowed",
                                              item.name.size(), kMaxNameLength));
}

// Makes the name known. A name already taken keeps its first meaning.
void ItemChecker::declare(const AstItem& item, Symbol symbol) {
  scope_.later.erase(item.name);
  symbol.span = item.name_span;
  if (!item.broken) name_length(item);
  if (is_reserved(item.name)) {
    if (!item.broken) {
      findings_.error(item.name_span, fmt::format("'{}' is a word of the language", item.name),
                      "choose another name");
    }
    return;
  }
  const auto [at, fresh] = scope_.symbols.try_emplace(item.name, std::move(symbol));
  if (fresh || item.broken) return;
  findings_.error(
      item.name_span,
      fmt::format("'{}' is declared twice; first on line {}", item.name, source_.place(at->second.span).line),
      "rename one of them");
}

std::optional<DType> ItemChecker::known_type(const AstItem& item) {
  const std::optional<DType> dtype = find_dtype(item.type);
  if (dtype) return dtype;
  const std::string near = closest(item.type, dtype_names());
  findings_.error(
      item.type_span,
      fmt::format("unknown type '{}'{}", item.type, near.empty() ? "" : "; did you mean '" + near + "'?"),
      near.empty() ? "types are f16, bf16, f32, i32, i8, u8, i64 and bool" : "");
  return std::nullopt;
}

void ItemChecker::attention(const AstItem& item) {
  name_length(item);
  spec_.name = item.name;
}

void ItemChecker::dtype(const AstItem& item) {
  const std::optional<DType> dtype = known_type(item);
  if (!dtype) return;
  spec_.dtype = *dtype;
  if (*dtype == DType::f16 || *dtype == DType::bf16 || *dtype == DType::f32) return;
  findings_.error(item.type_span, fmt::format("dtype is f16, bf16 or f32, not {}", item.type));
}

void ItemChecker::scale(const AstItem& item) {
  const ExprPtr value = constant(*item.value, "scale");
  if (!value) return;
  spec_.scale = as_f32(*value);
  if (std::isfinite(spec_.scale) && spec_.scale > 0) return;
  const char* remedy = spec_.scale < 0    ? "negate q instead"
                       : spec_.scale == 0 ? "`/` on two integers rounds down: write 1.0 / 8, not 1 / 8"
                                          : "";
  findings_.error(
      item.value->span,
      fmt::format("scale comes out as {}; it must be finite and positive", static_cast<float>(spec_.scale)),
      remedy);
}

void ItemChecker::param(const AstItem& item) {
  const int index = static_cast<int>(spec_.params.size());
  if (index == kMaxSpecParams) {
    findings_.error(item.name_span, fmt::format("a spec has at most {} params", kMaxSpecParams),
                    "put the numbers in a tensor");
  }
  ParamInfo info{.name = item.name, .default_value = std::int32_t{0}, .grad = item.has_grad};
  Symbol symbol{.kind = Symbol::Kind::broken, .index = index};
  const std::optional<DType> dtype = known_type(item);
  if (dtype == DType::i32 || dtype == DType::f32) {
    symbol.kind = Symbol::Kind::param;
    symbol.type = value_type(*dtype);
    param_default(item, symbol.type, info);
    need_float_for_grad(item, symbol.type);
  } else if (dtype) {
    findings_.error(item.type_span, fmt::format("a param is i32 or f32, not {}", item.type));
  }
  spec_.params.push_back(std::move(info));
  declare(item, symbol);
}

void ItemChecker::need_float_for_grad(const AstItem& item, Type type) {
  if (!item.has_grad || type == Type::f32) return;
  const bool is_param = item.kind == ItemKind::param;
  findings_.error(item.grad_span,
                  fmt::format("{} '{}' holds {} numbers, which have no gradient", item_word(item.kind),
                              item.name, item.type),
                  is_param ? "drop 'grad', or make it an f32 param"
                           : "drop 'grad', or make it a tensor of f32, f16 or bf16");
}

void ItemChecker::param_default(const AstItem& item, Type type, ParamInfo& info) {
  const ExprPtr value = constant(*item.value, "the default of a param");
  if (!value) return;
  if (type == Type::f32) {
    const double number = as_f32(*value);
    if (std::isnan(number)) findings_.error(item.value->span, "the default is not a number");
    info.default_value = static_cast<float>(number);
  } else if (value->type == Type::i32) {
    info.default_value = static_cast<std::int32_t>(value->int_value);
  } else {
    findings_.error(item.value->span, "the default of an i32 param is an i32; this is an f32",
                    fmt::format("drop the fraction, or write `param {} : f32`", item.name));
  }
}

void ItemChecker::tensor(const AstItem& item) {
  const int rank = static_cast<int>(item.extents.size());
  CheckedTensor tensor;
  tensor.info.name = item.name;
  tensor.info.grad = item.has_grad;
  Symbol symbol{.kind = Symbol::Kind::broken, .index = static_cast<int>(spec_.tensors.size()), .rank = rank};
  if (symbol.index == kMaxSpecTensors) {
    findings_.error(item.name_span, fmt::format("a spec has at most {} tensors", kMaxSpecTensors),
                    "join some along a new dimension");
  }
  if (rank > kMaxRank) {
    findings_.error(item.extents[kMaxRank]->span, fmt::format("a tensor has at most {} dimensions", kMaxRank),
                    "flatten two of them into one");
  }
  for (const AstPtr& extent : item.extents) {
    tensor.info.extents.push_back(print_expr(*extent));
    tensor.extents.push_back(this->extent(*extent));
  }
  if (const std::optional<DType> dtype = known_type(item)) {
    tensor.info.dtype = *dtype;
    symbol.kind = Symbol::Kind::tensor;
    symbol.type = value_type(*dtype);
    need_float_for_grad(item, symbol.type);
    if (item.value) tensor.example = example(*item.value, *dtype, rank);
  }
  spec_.tensor_infos.push_back(tensor.info);
  spec_.tensors.push_back(std::move(tensor));
  declare(item, symbol);
}

ExprPtr ItemChecker::extent(const AstExpr& ast) {
  const Context context{.room = Room::extent, .what = "a tensor's extent"};
  const Typed value = ExprChecker(scope_, source_, findings_, context).check(ast);
  if (!value.expr) return nullptr;
  if (value.expr->type != Type::i32) {
    findings_.error(ast.span, fmt::format("an extent is an i32; this is {}", article_type(value.expr->type)));
  } else if (is_literal(*value.expr) && value.expr->int_value < 1) {
    findings_.error(ast.span, fmt::format("the extent is {}; it must be at least 1", value.expr->int_value));
  }
  return value.expr;
}

ExprPtr ItemChecker::example(const AstExpr& ast, DType dtype, int rank) {
  const Context context{.room = Room::example, .what = "a tensor's example", .rank = rank};
  ExprChecker checker(scope_, source_, findings_, context);
  Typed value = checker.check(ast);
  if (!value.expr) return nullptr;
  const Type type = value.expr->type, want = value_type(dtype);
  if (want == Type::f32 && type == Type::i32) return checker.promote(ast, std::move(value)).expr;
  if (type == want) return value.expr;
  const char* remedy = want == Type::boolean   ? "compare it: x != 0"
                       : type == Type::boolean ? "write where(condition, 1, 0)"
                                               : "i32(x) rounds toward zero";
  findings_.error(ast.span,
                  fmt::format("the example of a tensor of {} is {}", dtype_name(dtype), article_type(type)),
                  remedy);
  return nullptr;
}

void ItemChecker::let(const AstItem& item) {
  if (item.is_function()) return function(item);
  Symbol symbol;
  symbol.value = expression(*item.value, Room::let);
  if (symbol.value.expr) {
    symbol.kind = Symbol::Kind::let;
    symbol.type = symbol.value.expr->type;
  }
  declare(item, symbol);
}

void ItemChecker::function(const AstItem& item) {
  Findings& found = findings_;
  const std::size_t before = found.num_errors();
  if (static_cast<int>(item.parameters.size()) > kMaxParameters) {
    found.error(item.parameters[kMaxParameters].span,
                fmt::format("a function has at most {} parameters", kMaxParameters));
  }
  for (std::size_t i = 0; i < item.parameters.size(); ++i) {
    const auto& [name, span] = item.parameters[i];
    const bool twice = std::any_of(item.parameters.begin(), item.parameters.begin() + static_cast<long>(i),
                                   [&](const AstParameter& other) { return other.name == name; });
    if (is_reserved(name)) {
      found.error(span, fmt::format("'{}' is a word of the language", name), "choose another name");
    } else if (twice || scope_.declares(name)) {
      found.error(span, fmt::format("the parameter '{}' hides another '{}'", name, name),
                  "name it otherwise");
    }
    if (name.size() > kMaxNameLength) {
      found.error(span, fmt::format("the name is {} characters long; at most {} are allowed", name.size(),
                                    kMaxNameLength));
    }
  }
  ExprChecker(scope_, source_, found, {.room = Room::let}).check_body(item);
  Symbol symbol;
  if (found.num_errors() == before) {
    symbol.kind = Symbol::Kind::function;
    symbol.item = &item;
  }
  declare(item, symbol);
}

void ItemChecker::score_mod(const AstItem& item) {
  spec_.score_from = item.from;
  if (!item.value) return;
  ExprChecker checker(scope_, source_, findings_, {.room = Room::score_mod});
  Typed value = checker.check(*item.value);
  if (!value.expr) return;
  if (value.expr->type == Type::boolean) {
    findings_.error(item.value->span, "score_mod is a number; this is a bool",
                    "a condition belongs in mask_mod");
    return;
  }
  if (!value.uses_score) {
    findings_.warning(item.value->span, "score_mod does not use the score, so q and k have no effect",
                      "write score + ... to add to it");
  }
  spec_.score_mod = checker.promote(*item.value, std::move(value)).expr;
}

void ItemChecker::mask_mod(const AstItem& item) {
  spec_.mask_from = item.from;
  if (!item.value) return;
  const Typed value = expression(*item.value, Room::mask_mod);
  if (!value.expr) return;
  if (value.expr->type != Type::boolean) {
    findings_.error(item.value->span,
                    fmt::format("mask_mod is a bool, true where the key is kept; this is {}",
                                article_type(value.expr->type)),
                    "compare it: x != 0");
    return;
  }
  spec_.mask_mod = value.expr;
  if (!is_literal(*value.expr)) return;
  const bool keeps = value.expr->int_value != 0;
  findings_.warning(item.value->span,
                    keeps ? "mask_mod is always true" : "mask_mod is always false: every output is 0",
                    keeps ? "drop the line" : "true means keep");
}

void ItemChecker::sink(const AstItem& item) {
  ExprChecker checker(scope_, source_, findings_, {.room = Room::sink});
  Typed value = checker.check(*item.value);
  if (!value.expr) return;
  if (value.expr->type == Type::boolean) {
    findings_.error(item.value->span, "the sink is a number, a logit; this is a bool",
                    "write where(condition, 0.0, -inf): a sink of -inf is none");
    return;
  }
  std::unordered_set<const Expr*> seen;
  if (const Expr* part = element_part(*value.expr, seen)) {
    findings_.error(item.value->span,
                    fmt::format("the sink is one number a head; it may not depend on {}",
                                builtin_info(part->builtin).name),
                    part->builtin == Builtin::score ? "it is a logit of its own, beside those of the keys"
                                                    : "use b and h alone");
    return;
  }
  spec_.sink = checker.promote(*item.value, std::move(value)).expr;
}

void ItemChecker::dropout(const AstItem& item) {
  const ExprPtr value = constant(*item.value, "dropout");
  if (!value) return;
  spec_.has_dropout = true;
  spec_.dropout = as_f32(*value);
  if (spec_.dropout >= 0 && spec_.dropout <= 1) return;
  findings_.error(
      item.value->span,
      fmt::format("dropout is {}; a probability is from 0 to 1", static_cast<float>(spec_.dropout)),
      spec_.dropout > 1 && spec_.dropout <= 100 ? "10 percent is 0.1" : "");
}

}  // namespace fa
