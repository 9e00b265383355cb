// The syntax tree: what was written, where; nothing is resolved yet. Values; expressions are shared, so
// copies are cheap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/spec/expr.h"
#include "compiler/spec/hook_file.h"
#include "compiler/spec/source.h"

namespace fa {

/// How deep an expression may nest, lets included. Every later stage may therefore recurse.
constexpr int kMaxDepth = 400;

enum class AstKind : std::uint8_t {
  integer,   // `int_value`
  floating,  // `float_value`; `inf` too
  boolean,   // `int_value` 0 or 1
  name,      // `name`
  unary,     // `op`; args[0]
  binary,    // `op`; args[0], args[1]
  call,      // `name`; args
  index,     // `name`; args are the indices
  reduce     // `reduction` over `name` < args[0]; args[1] is the body, args[2] the range's maximum if stated
};

struct AstExpr;
using AstPtr = std::shared_ptr<const AstExpr>;

struct AstExpr {
  AstKind kind = AstKind::integer;
  Op op = Op::add;
  Reduction reduction = Reduction::any;
  std::string name{};
  std::uint64_t int_value = 0;
  double float_value = 0;
  std::vector<AstPtr> args{};
  Span span{};       // all of the expression, with the brackets around it
  Span head_span{};  // the operator, or the name
  int depth = 1;
};

enum class ItemKind : std::uint8_t {
  attention,
  head_dim,
  head_dim_v,
  dtype,
  scale,
  param,
  tensor,
  let,
  score_mod,
  mask_mod,
  sink,
  dropout
};

/// A parameter of a function: `x` of `let near(x, y) = ...`.
struct AstParameter {
  std::string name{};
  Span span{};
};

/// One logical line. The kind decides which fields have a meaning.
struct AstItem {
  ItemKind kind = ItemKind::attention;
  std::string name{};                      // attention, param, tensor, let
  std::string type{};                      // dtype, param, tensor
  std::vector<AstPtr> extents{};           // tensor
  std::vector<AstParameter> parameters{};  // let; not empty: it is a function
  AstPtr value{};         // all but attention and dtype; null for a tensor without an example
  HookFile from{};        // score_mod, mask_mod: instead of a value; its path is empty where there is one
  bool has_grad = false;  // param, tensor: the word `grad` stands at the end
  Span word_span{}, name_span{}, type_span{}, from_span{}, grad_span{};
  bool broken = false;  // the parser reported it; the name still counts as declared

  bool is_function() const { return !parameters.empty(); }
};

struct Ast {
  std::shared_ptr<const SourceText> source;
  std::vector<AstItem> items;

  const AstItem* find(ItemKind kind) const;  // the first of its kind, or null
};

std::string_view item_word(ItemKind kind);
std::optional<ItemKind> item_kind(std::string_view word);

/// How tightly operators bind, Python's order; a larger number binds tighter.
struct Precedence {
  enum : int {
    lowest = 1,
    logical_or = 1,
    logical_and,
    logical_not,
    comparison,
    bit_or,
    bit_xor,
    bit_and,
    shift,
    sum,
    product,
    sign,
    power,
    atom
  };
};
int precedence(Op op);
bool is_comparison(Op op);
std::string_view op_text(Op op);  // "+", "and", ...
std::string_view reduction_name(Reduction reduction);

/// Whether both are the same tree; places in the text are not compared.
bool same(const AstExpr& a, const AstExpr& b);
/// Whether both have the same items in canonical order; places in the text are not compared.
bool same(const Ast& a, const Ast& b);

}  // namespace fa
