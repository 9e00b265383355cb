// The items of a spec, one logical line each.
#include "compiler/spec/parse/parser.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/spec/parse/cursor.h"
#include "compiler/spec/parse/lexer.h"
#include "compiler/spec/parse/parse_expr.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

constexpr std::string_view kEndOfItem = "an operator or the end of the line";

std::vector<std::string_view> item_words() {
  std::vector<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(ItemKind::dropout); ++i)
    words.push_back(item_word(static_cast<ItemKind>(i)));
  return words;
}

// Reads the rest of a line, whose first word says what it is, into `item`.
class ItemParser {
 public:
  ItemParser(Cursor& cursor, AstItem& item) : cursor_(cursor), item_(item) {}

  void read() {
    switch (item_.kind) {
      case ItemKind::attention:
        return attention();
      case ItemKind::head_dim:
        return plain_value("head_dim 128");
      case ItemKind::head_dim_v:
        return plain_value("head_dim_v 128");
      case ItemKind::scale:
        return plain_value("scale 1 / sqrt(head_dim)");
      case ItemKind::sink:
        return plain_value("sink sinks[h]");
      case ItemKind::dropout:
        return plain_value("dropout 0.1");
      case ItemKind::dtype:
        return dtype();
      case ItemKind::param:
        return param();
      case ItemKind::tensor:
        return tensor();
      case ItemKind::let:
        name("a name for the value");
        if (cursor_.peek().is("(")) parameters();
        return equals(fmt::format("let '{}'", item_.name));
      case ItemKind::score_mod:
      case ItemKind::mask_mod:
        if (cursor_.take_if("from")) return from();
        return equals(fmt::format("'{}'", item_word(item_.kind)));
    }
  }

 private:
  void name(std::string_view what) {
    const Token token = cursor_.expect_name(what);
    item_.name = std::string(token.text);
    item_.name_span = token.span;
  }

  void type(std::string_view what) {
    const Token token = cursor_.expect_name(what);
    item_.type = std::string(token.text);
    item_.type_span = token.span;
  }

  void parameters() {
    const Span open = cursor_.take().span;
    if (cursor_.peek().is(")")) {
      cursor_.fail(cursor_.peek().span, "a function has at least one parameter",
                   fmt::format("a value needs none: `let {} = ...`", item_.name));
    }
    do {
      const Token token = cursor_.expect_name("the name of a parameter");
      item_.parameters.push_back({.name = std::string(token.text), .span = token.span});
      if (cursor_.peek().is(":")) {
        cursor_.fail(cursor_.peek().span, "a parameter has no type of its own",
                     "drop it: each call is checked with the types of its arguments");
      }
    } while (cursor_.take_if(","));
    if (cursor_.at_end()) cursor_.fail(open, "'(' is never closed", "add ')'");
    if (!cursor_.take_if(")")) cursor_.unexpected("',' or ')'");
  }

  void value() {
    item_.value = parse_expr(cursor_);
    if (item_.kind == ItemKind::param || item_.kind == ItemKind::tensor) grad();
    cursor_.expect_end(kEndOfItem);
  }

  // `grad` is a word of the language here alone, where no name can stand: specs may use it as a name.
  bool grad() {
    const Token token = cursor_.peek();
    if (!cursor_.take_if("grad")) return false;
    item_.has_grad = true;
    item_.grad_span = token.span;
    return true;
  }

  void equals(const std::string& after) {
    cursor_.expect("=", after);
    value();
  }

  void from() {
    const Token token = cursor_.expect_string("the file of LLVM IR, such as \"mask.ll\"");
    item_.from.path = std::string(token.text.substr(1, token.text.size() - 2));
    item_.from_span = token.span;
    if (item_.from.path.empty())
      cursor_.fail(token.span, "the path is empty", "name the file of LLVM IR: \"mask.ll\"");
    cursor_.expect_end("the end of the line");
  }

  void refuse_equals(std::string_view example) {
    if (!cursor_.peek().is("=")) return;
    cursor_.fail(cursor_.peek().span, fmt::format("'{}' takes no '='", item_word(item_.kind)),
                 fmt::format("write `{}`", example));
  }

  void attention() {
    refuse_equals("attention my_variant");
    name("the attention's name");
    if (cursor_.peek().is("-")) {
      cursor_.fail(cursor_.peek().span, "a name is letters, digits and '_'", "write '_' for '-'");
    }
    cursor_.expect_end("the end of the line");
  }

  void plain_value(std::string_view example) {
    refuse_equals(example);
    if (cursor_.at_end()) {
      cursor_.fail(cursor_.peek().span, fmt::format("'{}' needs a value", item_word(item_.kind)),
                   fmt::format("write `{}`", example));
    }
    value();
  }

  void dtype() {
    refuse_equals("dtype bf16");
    type("a type: bf16, f16 or f32");
    cursor_.expect_end("the end of the line");
  }

  void param() {
    name("the param's name");
    const std::string what = fmt::format("param '{}'", item_.name);
    cursor_.expect(":", what);
    type("a type: i32 or f32");
    if (cursor_.at_end()) {
      cursor_.fail(item_.name_span, fmt::format("{} has no default", what),
                   fmt::format("write `param {} : {} = 1`", item_.name, item_.type));
    }
    equals("the type");
  }

  void tensor() {
    name("the tensor's name");
    cursor_.expect(":", fmt::format("tensor '{}'", item_.name));
    type("a type: f32, f16, bf16, i32, i8, u8, i64 or bool");
    if (!cursor_.peek().is("[")) {
      const bool scalar = cursor_.at_end() || cursor_.peek().is("=");
      cursor_.fail(cursor_.peek().span,
                   fmt::format("expected '[' and the extents of tensor '{}', found {}", item_.name,
                               describe(cursor_.peek())),
                   scalar ? "a single number is a param: `param NAME : f32 = 1.0`" : "");
    }
    const Span open = cursor_.take().span;
    do {
      item_.extents.push_back(parse_expr(cursor_));
    } while (cursor_.take_if(","));
    if (cursor_.at_end()) cursor_.fail(open, "'[' is never closed", "add ']'");
    if (!cursor_.take_if("]")) cursor_.unexpected("an operator, ',' or ']'");
    if (cursor_.at_end()) return;
    if (grad()) {
      if (cursor_.peek().is("=")) {
        cursor_.fail(item_.grad_span, "'grad' stands before the tensor's example",
                     "write it at the end of the line");
      }
      return cursor_.expect_end("the end of the line");
    }
    equals("the extents");
  }

  Cursor& cursor_;
  AstItem& item_;
};

// Reads the line's first word into `item`; throws LineSpoiled where it is no item's.
void first_word(Cursor& cursor, AstItem& item) {
  const Token token = cursor.peek();
  if (token.kind != TokenKind::name) cursor.unexpected("an item, such as `mask_mod = ...`");
  item.word_span = cursor.take().span;
  if (const std::optional<ItemKind> kind = item_kind(token.text)) {
    item.kind = *kind;
    return;
  }
  const std::string near = closest(token.text, item_words());
  const std::string message = fmt::format("unknown item {}", describe(token));
  if (!near.empty()) {
    // The name that the broken line was to declare counts as declared.
    item.kind = *item_kind(near);
    if (cursor.peek().kind == TokenKind::name) item.name = std::string(cursor.peek().text);
    cursor.fail(token.span, fmt::format("{}; did you mean '{}'?", message, near));
  }
  if (cursor.peek().is("=")) {
    item.kind = ItemKind::let;
    item.name = std::string(token.text);
    cursor.fail(
        token.span, message,
        fmt::format("write `let {0} = ...`, or `param {0} : i32 = ...` for a run-time number", token.text));
  }
  item.kind = ItemKind::let;  // of no name: it declares nothing and repeats nothing
  cursor.fail(
      token.span, message,
      "items are attention, head_dim, head_dim_v, dtype, scale, param, tensor, let, score_mod, mask_mod, "
      "sink and dropout");
}

}  // namespace

Ast parse_spec(std::shared_ptr<const SourceText> source, Findings& findings) {
  Ast ast{.source = std::move(source), .items = {}};
  for (const Line& line : lex(*ast.source)) {
    Cursor cursor(line, findings);
    AstItem item{.kind = ItemKind::let};
    try {
      first_word(cursor, item);
      ItemParser(cursor, item).read();
    } catch (const LineSpoiled&) {
      item.broken = true;
    }
    ast.items.push_back(std::move(item));
  }
  return ast;
}

AstPtr parse_expression(const SourceText& source, Findings& findings) {
  const std::vector<Line> lines = lex(source);
  if (lines.empty()) {
    findings.error({.begin = 0, .end = 0}, "expected an expression, found nothing");
    return nullptr;
  }
  Cursor cursor(lines.front(), findings);
  try {
    AstPtr value = parse_expr(cursor);
    cursor.expect_end(kEndOfItem);
    if (lines.size() > 1) cursor.fail(lines[1].front().span, "an expression is one logical line");
    return value;
  } catch (const LineSpoiled&) {
    return nullptr;
  }
}

}  // namespace fa
