// The items of a spec, in the order they stand.
#include "compiler/spec/check.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "compiler/spec/check_expr.h"
#include "compiler/spec/fold.h"
#include "compiler/spec/print.h"
#include "compiler/spec/scope.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

constexpr int kDefaultHeadDim = 128;
constexpr int kMaxHeadDim = 256;
constexpr int kHeadDimStep = 8;

// The same items, with every default stated: what the spec's own text shows.
Ast stated(const Ast& ast) {
  Ast full = ast;
  const auto add = [&](ItemKind kind, AstPtr value, std::string type) {
    if (full.find(kind) == nullptr)
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

class Checker {
 public:
  Checker(const Ast& ast, Findings& findings) : ast_(ast), findings_(findings) {}

  CheckedSpec run() {
    refuse_repeats();
    head_dims();
    for (const AstItem& item : ast_.items) {
      if (declares(item) && !item.name.empty()) scope_.later.try_emplace(item.name, item.name_span);
    }
    for (const AstItem& item : ast_.items) {
      if (item.broken) {
        if (declares(item) && !item.name.empty()) declare(item, {});
        continue;
      }
      this->item(item);
    }
    warn_unused();
    return std::move(spec_);
  }

 private:
  static bool declares(const AstItem& item) {
    return item.kind == ItemKind::param || item.kind == ItemKind::tensor || item.kind == ItemKind::let;
  }

  void refuse_repeats() {
    std::array<const AstItem*, 11> first{};
    for (const AstItem& item : ast_.items) {
      const AstItem*& before = first[static_cast<std::size_t>(item.kind)];
      if (before != nullptr && !declares(item)) {
        findings_.error(item.word_span,
                        fmt::format("'{}' stands twice; first on line {}", item_word(item.kind),
                                    ast_.source->place(before->word_span).line),
                        "keep one of them");
      }
      if (before == nullptr) before = &item;
    }
    const AstItem& head = ast_.items.front();
    const AstItem* attention = first[static_cast<std::size_t>(ItemKind::attention)];
    if (attention == nullptr) {
      // A misspelt first line is reported already.
      if (!findings_.has_errors()) findings_.error(head.word_span, "a spec begins with `attention NAME`");
    } else if (attention != &head) {
      findings_.error(attention->word_span, "'attention' must be the first item", "move the line to the top");
    }
  }

  // The two are constants of every other item, wherever they stand.
  void head_dims() {
    scope_.head_dim = scope_.head_dim_v = kDefaultHeadDim;
    const AstItem* item = ast_.find(ItemKind::head_dim);
    if (item != nullptr && !item->broken) scope_.head_dim = head_dim(*item);
    scope_.head_dim_v = scope_.head_dim;
    item = ast_.find(ItemKind::head_dim_v);
    if (item != nullptr && !item->broken) scope_.head_dim_v = head_dim(*item);
    spec_.head_dim = scope_.head_dim;
    spec_.head_dim_v = scope_.head_dim_v;
  }

  int head_dim(const AstItem& item) {
    const std::string_view word = item_word(item.kind);
    const Typed value = expression(*item.value, Room::constant);
    if (!value.expr) return kDefaultHeadDim;
    if (!is_literal(*value.expr) || value.expr->type != Type::i32) {
      findings_.error(item.value->span, fmt::format("{} must be a constant integer", word),
                      fmt::format("write `{} 128`", word));
      return kDefaultHeadDim;
    }
    const std::int64_t d = value.expr->int_value;
    if (d >= 1 && d <= kMaxHeadDim && d % kHeadDimStep == 0) return static_cast<int>(d);
    findings_.error(item.value->span, fmt::format("{} is {}; it must be a multiple of {} from {} to {}", word,
                                                  d, kHeadDimStep, kHeadDimStep, kMaxHeadDim));
    return kDefaultHeadDim;
  }

  void item(const AstItem& item) {
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
      case ItemKind::dropout:
        return dropout(item);
    }
  }

  Typed expression(const AstExpr& ast, Room room, int rank = 0) {
    return ExprChecker(scope_, *ast_.source, findings_, room, rank).check(ast);
  }

  // A constant as an f32 literal; null where it is none, reported.
  Typed constant_number(const AstItem& item) {
    ExprChecker checker(scope_, *ast_.source, findings_, Room::constant);
    Typed value = checker.check(*item.value);
    if (!value.expr) return value;
    if (value.expr->type != Type::boolean && is_literal(*value.expr))
      return checker.promote(*item.value, std::move(value));
    findings_.error(item.value->span, fmt::format("{} must be a constant number", item_word(item.kind)));
    return {};
  }

  void name_length(const AstItem& item) {
    if (item.name.size() <= kMaxNameLength) return;
    findings_.error(item.name_span, fmt::format("the name is {} characters long; at most {} are allowed",
                                                item.name.size(), kMaxNameLength));
  }

  void attention(const AstItem& item) {
    name_length(item);
    spec_.name = item.name;
  }

  void dtype(const AstItem& item) {
    const std::optional<DType> dtype = known_type(item);
    if (!dtype) return;
    spec_.dtype = *dtype;
    if (*dtype == DType::f16 || *dtype == DType::bf16 || *dtype == DType::f32) return;
    findings_.error(item.type_span, fmt::format("dtype is f16, bf16 or f32, not {}", item.type));
  }

  std::optional<DType> known_type(const AstItem& item) {
    const std::optional<DType> dtype = find_dtype(item.type);
    if (dtype) return dtype;
    constexpr std::array<std::string_view, 6> kTypes = {"f16", "bf16", "f32", "i32", "i8", "bool"};
    const std::string near = closest(item.type, kTypes);
    findings_.error(item.type_span,
                    near.empty() ? fmt::format("unknown type '{}'", item.type)
                                 : fmt::format("unknown type '{}'; did you mean '{}'?", item.type, near),
                    near.empty() ? "types are f16, bf16, f32, i32, i8 and bool" : "");
    return std::nullopt;
  }

  void scale(const AstItem& item) {
    const Typed value = constant_number(item);
    if (!value.expr) return;
    spec_.scale = value.expr->float_value;
    if (std::isfinite(spec_.scale) && spec_.scale > 0) return;
    const char* remedy = spec_.scale < 0    ? "negate q instead"
                         : spec_.scale == 0 ? "`/` on two integers rounds down: write 1.0 / 8, not 1 / 8"
                                            : "";
    findings_.error(
        item.value->span,
        fmt::format("scale comes out as {}; it must be finite and positive", static_cast<float>(spec_.scale)),
        remedy);
  }

  // Makes the name known. A name already taken keeps its first meaning.
  void declare(const AstItem& item, Symbol symbol) {
    scope_.later.erase(item.name);
    symbol.span = item.name_span;
    name_length(item);
    if (is_reserved(item.name)) {
      if (!item.broken)
        findings_.error(item.name_span, fmt::format("'{}' is a word of the language", item.name),
                        "choose another name");
      return;
    }
    const auto [at, fresh] = scope_.symbols.try_emplace(item.name, std::move(symbol));
    if (fresh || item.broken) return;
    findings_.error(item.name_span,
                    fmt::format("'{}' is declared twice; first on line {}", item.name,
                                ast_.source->place(at->second.span).line),
                    "rename one of them");
  }

  void param(const AstItem& item) {
    const int index = static_cast<int>(spec_.params.size());
    if (index == kMaxSpecParams) {
      findings_.error(item.name_span, fmt::format("a spec has at most {} params", kMaxSpecParams),
                      "put the numbers in a tensor");
    }
    ParamInfo info{.name = item.name, .default_value = std::int32_t{0}};
    Symbol symbol{.kind = Symbol::Kind::broken, .index = index};
    if (const std::optional<DType> dtype = known_type(item)) {
      if (*dtype == DType::i32 || *dtype == DType::f32) {
        symbol.kind = Symbol::Kind::param;
        symbol.type = value_type(*dtype);
      } else {
        findings_.error(item.type_span, fmt::format("a param is i32 or f32, not {}", item.type));
      }
    }
    // The value is checked also where the type is wrong: its own errors count.
    const Typed value = constant_number(item);
    if (value.expr && symbol.kind == Symbol::Kind::param) param_default(item, symbol.type, info);
    spec_.params.push_back(std::move(info));
    declare(item, symbol);
  }

  void param_default(const AstItem& item, Type type, ParamInfo& info) {
    ExprChecker checker(scope_, *ast_.source, findings_, Room::constant);
    Typed value = checker.check(*item.value);
    if (type == Type::i32 && value.expr->type != Type::i32) {
      findings_.error(
          item.value->span,
          fmt::format("the default of an i32 param is an i32; this is {}", article_type(value.expr->type)),
          fmt::format("drop the fraction, or write `param {} : f32`", item.name));
    } else if (type == Type::i32) {
      info.default_value = static_cast<std::int32_t>(value.expr->int_value);
    } else {
      const double number = checker.promote(*item.value, std::move(value)).expr->float_value;
      if (std::isnan(number)) findings_.error(item.value->span, "the default is not a number");
      info.default_value = static_cast<float>(number);
    }
  }

  void tensor(const AstItem& item) {
    const int rank = static_cast<int>(item.extents.size());
    CheckedTensor tensor;
    tensor.info.name = item.name;
    Symbol symbol{
        .kind = Symbol::Kind::broken, .index = static_cast<int>(spec_.tensors.size()), .rank = rank};
    if (symbol.index == kMaxSpecTensors) {
      findings_.error(item.name_span, fmt::format("a spec has at most {} tensors", kMaxSpecTensors),
                      "join some along a new dimension");
    }
    if (rank > kMaxRank) {
      findings_.error(item.extents[kMaxRank]->span,
                      fmt::format("a tensor has at most {} dimensions", kMaxRank),
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
      if (item.value) tensor.example = example(*item.value, *dtype, rank);
    }
    spec_.tensor_infos.push_back(tensor.info);
    spec_.tensors.push_back(std::move(tensor));
    declare(item, symbol);
  }

  ExprPtr extent(const AstExpr& ast) {
    const Typed value = expression(ast, Room::extent);
    if (!value.expr) return nullptr;
    if (value.expr->type != Type::i32) {
      findings_.error(ast.span,
                      fmt::format("an extent is an i32; this is {}", article_type(value.expr->type)));
    } else if (is_literal(*value.expr) && value.expr->int_value < 1) {
      findings_.error(ast.span,
                      fmt::format("the extent is {}; it must be at least 1", value.expr->int_value));
    }
    return value.expr;
  }

  ExprPtr example(const AstExpr& ast, DType dtype, int rank) {
    ExprChecker checker(scope_, *ast_.source, findings_, Room::example, rank);
    Typed value = checker.check(ast);
    if (!value.expr) return nullptr;
    const Type type = value.expr->type, want = value_type(dtype);
    if (want == Type::f32 && type == Type::i32) return checker.promote(ast, std::move(value)).expr;
    if (type != want) {
      const char* remedy = want == Type::boolean   ? "compare it: x != 0"
                           : type == Type::boolean ? "write where(condition, 1, 0)"
                                                   : "i32(x) rounds toward zero";
      findings_.error(
          ast.span, fmt::format("the example of a tensor of {} is {}", dtype_name(dtype), article_type(type)),
          remedy);
    }
    return value.expr;
  }

  void let(const AstItem& item) {
    Symbol symbol;
    symbol.value = expression(*item.value, Room::let);
    if (symbol.value.expr) {
      symbol.kind = Symbol::Kind::let;
      symbol.type = symbol.value.expr->type;
    }
    declare(item, symbol);
  }

  void score_mod(const AstItem& item) {
    ExprChecker checker(scope_, *ast_.source, findings_, Room::score_mod);
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

  void mask_mod(const AstItem& item) {
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

  void dropout(const AstItem& item) {
    const Typed value = constant_number(item);
    if (!value.expr) return;
    spec_.has_dropout = true;
    spec_.dropout = value.expr->float_value;
    if (spec_.dropout >= 0 && spec_.dropout <= 1) return;
    findings_.error(
        item.value->span,
        fmt::format("dropout is {}; a probability is from 0 to 1", static_cast<float>(spec_.dropout)),
        spec_.dropout > 1 && spec_.dropout <= 100 ? "10 percent is 0.1" : "");
  }

  void warn_unused() {
    for (const auto& [name, symbol] : scope_.symbols) {
      if (symbol.used || symbol.kind == Symbol::Kind::broken) continue;
      const char* kind = symbol.kind == Symbol::Kind::param    ? "param"
                         : symbol.kind == Symbol::Kind::tensor ? "tensor"
                                                               : "let";
      findings_.warning(symbol.span, fmt::format("{} '{}' is never used", kind, name));
    }
  }

  const Ast& ast_;
  Findings& findings_;
  Scope scope_;
  CheckedSpec spec_;
};

}  // namespace

std::shared_ptr<const CheckedSpec> check(const std::shared_ptr<const Ast>& ast, Findings& findings) {
  if (ast->items.empty()) {
    // Where every line was refused already, this would only repeat it.
    if (!findings.has_errors()) {
      findings.error({.begin = 0, .end = 0}, "the spec is empty", "begin with `attention NAME`");
    }
    return nullptr;
  }
  const Ast full = stated(*ast);
  CheckedSpec spec = Checker(full, findings).run();
  if (findings.has_errors()) return nullptr;
  spec.file = ast->source->file();
  spec.text = print_spec(full);
  spec.ast = ast;
  spec.warnings = findings.warnings();
  return std::make_shared<const CheckedSpec>(std::move(spec));
}

}  // namespace fa
