// Precedence climbing, with Python's order of operators.
#include "compiler/spec/parse/parse_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "compiler/spec/print.h"

namespace fa {
namespace {

using Node = std::shared_ptr<AstExpr>;

std::optional<Op> binary_op(const Token& token) {
  if (!is_binary_operator(token)) return std::nullopt;
  for (int i = static_cast<int>(Op::add); i <= static_cast<int>(Op::power); ++i) {
    if (op_text(static_cast<Op>(i)) == token.text) return static_cast<Op>(i);
  }
  return std::nullopt;
}

std::optional<Reduction> reduction(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Reduction::max); ++i) {
    if (reduction_name(static_cast<Reduction>(i)) == name) return static_cast<Reduction>(i);
  }
  return std::nullopt;
}

// Words that can only be a mistake where a value should stand.
bool never_a_name(const Token& token) {
  return token.is("and") || token.is("or") || token.is("if") || token.is("lambda") || token.is("return");
}

class ExprParser {
 public:
  explicit ExprParser(Cursor& cursor) : cursor_(cursor) {}

  Node expression(int at_least) {
    const Nesting nesting(*this);
    Node left = prefix(at_least);
    while (const std::optional<Op> op = binary_op(cursor_.peek())) {
      if (precedence(*op) < at_least) break;
      const Token token = cursor_.take();
      // `**` groups to the right, and a sign may follow it: 2 ** -x ** 2 is 2 ** (-(x ** 2)).
      Node right = expression(*op == Op::power ? +Precedence::sign : precedence(*op) + 1);
      refuse_chain(*op, *left, *right);
      AstExpr node{
          .kind = AstKind::binary, .op = *op, .span = join(left->span, right->span), .head_span = token.span};
      node.args = {std::move(left), std::move(right)};
      left = finish(std::move(node));
    }
    return left;
  }

 private:
  // Brackets and signs nest without adding operators, so the parser counts its own recursion.
  struct Nesting {
    explicit Nesting(ExprParser& p) : parser(p) {
      if (++parser.nesting_ > kMaxDepth) parser.too_deep(parser.cursor_.peek().span);
    }
    ~Nesting() { --parser.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ExprParser& parser;
  };

  [[noreturn]] void too_deep(Span span) {
    cursor_.fail(span, fmt::format("the expression nests more than {} deep", kMaxDepth));
  }

  Node finish(AstExpr node) {
    for (const AstPtr& arg : node.args) node.depth = std::max(node.depth, arg->depth + 1);
    if (node.depth > kMaxDepth) too_deep(node.head_span);
    return std::make_shared<AstExpr>(std::move(node));
  }

  void refuse_chain(Op op, const AstExpr& left, const AstExpr& right) {
    const std::optional<Op> next = binary_op(cursor_.peek());
    if (!is_comparison(op) || !next || !is_comparison(*next)) return;
    const Span span = cursor_.take().span;
    const Node third = expression(Precedence::comparison + 1);
    const std::string middle = print_expr(right);
    cursor_.fail(span,
                 fmt::format("comparisons do not chain; write `{} {} {} and {} {} {}`", print_expr(left),
                             op_text(op), middle, middle, op_text(*next), print_expr(*third)));
  }

  Node unary(Op op, int operand_at_least) {
    const Token token = cursor_.take();
    Node operand = expression(operand_at_least);
    AstExpr node{
        .kind = AstKind::unary, .op = op, .span = join(token.span, operand->span), .head_span = token.span};
    node.args = {std::move(operand)};
    return finish(std::move(node));
  }

  Node prefix(int at_least) {
    const Token& token = cursor_.peek();
    if (token.is("not")) {
      if (at_least > Precedence::logical_not) {
        cursor_.fail(token.span, "'not' binds less tightly than the operator before it", "write (not ...)");
      }
      return unary(Op::logical_not, Precedence::logical_not);
    }
    if (token.is("-")) return unary(Op::neg, Precedence::sign);
    if (token.is("~")) return unary(Op::bit_not, Precedence::sign);
    if (token.is("+")) cursor_.fail(token.span, "there is no '+' sign in front of a value", "drop it");
    Node node = primary();
    if (cursor_.peek().is("[")) {
      cursor_.fail(cursor_.peek().span, "only a tensor's name is indexed, once",
                   node->kind == AstKind::index ? "write all indices in one pair of brackets: t[i, j]" : "");
    }
    if (cursor_.peek().is("(")) cursor_.fail(cursor_.peek().span, "only a function's name is called");
    return node;
  }

  Node primary() {
    const Token token = cursor_.peek();
    AstExpr node{.span = token.span, .head_span = token.span};
    if (token.kind == TokenKind::integer) {
      node.int_value = token.int_value;
    } else if (token.kind == TokenKind::floating) {
      node.kind = AstKind::floating;
      node.float_value = token.float_value;
      if (token.float_value > std::numeric_limits<double>::max()) {
        cursor_.fail(token.span, fmt::format("{} does not fit an f32", describe(token)),
                     "write `inf` for infinity");
      }
    } else if (token.is("inf")) {
      node.kind = AstKind::floating;
      node.float_value = std::numeric_limits<double>::infinity();
    } else if (token.is("true") || token.is("false")) {
      node.kind = AstKind::boolean;
      node.int_value = token.is("true") ? 1 : 0;
    } else if (token.is("(")) {
      return bracketed();
    } else if (token.kind == TokenKind::name && !never_a_name(token)) {
      return named();
    } else {
      cursor_.unexpected("an expression");
    }
    cursor_.take();
    return finish(std::move(node));
  }

  Node bracketed() {
    const Span open = cursor_.take().span;
    Node node = expression(Precedence::lowest);
    const Span close = cursor_.peek().span;
    expect_close(")", open);
    node->span = join(open, close);
    return node;
  }

  Node named() {
    const Token token = cursor_.take();
    const Token open = cursor_.peek();
    AstExpr node{
        .kind = AstKind::name, .name = std::string(token.text), .span = token.span, .head_span = token.span};
    if (open.is("(")) {
      const std::optional<Reduction> over = reduction(token.text);
      if (over && (has_range() || (*over != Reduction::min && *over != Reduction::max)))
        return reduce(token, *over);
      node.kind = AstKind::call;
      arguments(node, ")");
    } else if (open.is("[")) {
      node.kind = AstKind::index;
      arguments(node, "]");
    }
    return finish(std::move(node));
  }

  void arguments(AstExpr& node, std::string_view close) {
    const Span open = cursor_.take().span;
    if (!cursor_.peek().is(close)) {
      do {
        node.args.push_back(expression(Precedence::lowest));
      } while (cursor_.take_if(","));
    }
    node.span = join(node.span, cursor_.peek().span);
    expect_close(close, open);
  }

  void expect_close(std::string_view close, Span open) {
    if (cursor_.at_end()) {
      cursor_.fail(open, fmt::format("'{}' is never closed", close == ")" ? "(" : "["),
                   fmt::format("add '{}'", close));
    }
    if (!cursor_.take_if(close)) cursor_.unexpected(fmt::format("an operator or '{}'", close));
  }

  // Whether the brackets that open here hold a `:` of their own: min(i < 4: ...) against min(a, b).
  bool has_range() const {
    int depth = 0;
    for (std::size_t i = 0; cursor_.peek(i).kind != TokenKind::end_of_line; ++i) {
      const Token& token = cursor_.peek(i);
      if (token.is("(") || token.is("[")) ++depth;
      if ((token.is(")") || token.is("]")) && --depth == 0) return false;
      if (token.is(":") && depth == 1) return true;
    }
    return false;
  }

  Node reduce(const Token& word, Reduction over) {
    const std::string form = fmt::format("write {}(i < 8: ...)", word.text);
    if (!has_range()) {
      cursor_.fail(word.span, fmt::format("'{}' runs over a range of indices", word.text), form);
    }
    const Span open = cursor_.take().span;
    const Token name = cursor_.expect_name("the name of an index");
    if (!cursor_.peek().is("<")) {
      cursor_.fail(
          cursor_.peek().span,
          fmt::format("expected '<' after the index '{}', found {}", name.text, describe(cursor_.peek())),
          form);
    }
    cursor_.take();
    Node count = expression(Precedence::comparison + 1);
    Node maximum = cursor_.take_if("max") ? expression(Precedence::comparison + 1) : nullptr;
    cursor_.expect(":", "the range");
    Node body = expression(Precedence::lowest);
    AstExpr node{.kind = AstKind::reduce, .reduction = over, .name = std::string(name.text)};
    node.span = join(word.span, cursor_.peek().span);
    node.head_span = name.span;
    expect_close(")", open);
    node.args = {std::move(count), std::move(body)};
    if (maximum) node.args.push_back(std::move(maximum));
    return finish(std::move(node));
  }

  Cursor& cursor_;
  int nesting_ = 0;
};

}  // namespace

AstPtr parse_expr(Cursor& cursor) { return ExprParser(cursor).expression(Precedence::lowest); }

}  // namespace fa
