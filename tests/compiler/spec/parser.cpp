// The shape of expressions, and what survives an error.
#include "compiler/spec/parse/parser.h"

#include <memory>
#include <string>

#include "compiler/spec/print.h"
#include "tests/catch.h"

namespace {

// Every operation in brackets: shows the shape.
std::string shape(const fa::AstExpr& e) {
  switch (e.kind) {
    case fa::AstKind::unary:
      return "(" + std::string(fa::op_text(e.op)) + " " + shape(*e.args[0]) + ")";
    case fa::AstKind::binary:
      return "(" + shape(*e.args[0]) + " " + std::string(fa::op_text(e.op)) + " " + shape(*e.args[1]) + ")";
    default:
      return fa::print_expr(e);
  }
}

std::string shape(const std::string& text) {
  const fa::SourceText source("test", text);
  fa::Findings findings(source);
  const fa::AstPtr expr = fa::parse_expression(source, findings);
  return expr ? shape(*expr) : "error: " + findings.errors().at(0).message;
}

struct Parsed {
  fa::Ast ast;
  std::vector<fa::Diagnostic> errors;
};

Parsed parse_with_errors(const std::string& text) {
  const auto source = std::make_shared<const fa::SourceText>("test", text);
  fa::Findings findings(*source);
  fa::Ast ast = fa::parse_spec(source, findings);
  return {std::move(ast), findings.errors()};
}

}  // namespace

TEST_CASE("operators bind as in Python", "[spec][parser]") {
  CHECK(shape("a + b * c - d") == "((a + (b * c)) - d)");
  CHECK(shape("a - b - c") == "((a - b) - c)");
  CHECK(shape("a / b * c % d") == "(((a / b) * c) % d)");
  CHECK(shape("a or b and not c == d") == "(a or (b and (not (c == d))))");
  CHECK(shape("not a and b") == "((not a) and b)");
  CHECK(shape("a | b ^ c & d << e + f") == "(a | (b ^ (c & (d << (e + f)))))");
  CHECK(shape("x & x - 1 == 0") == "((x & (x - 1)) == 0)");
  CHECK(shape("-a * b") == "((- a) * b)");
  CHECK(shape("a - -b") == "(a - (- b))");
  CHECK(shape("~-a") == "(~ (- a))");
  CHECK(shape("-(a + b)") == "(- (a + b))");
  CHECK(shape("-x ** 2") == "(- (x ** 2))");
  CHECK(shape("~x ** 2") == "(~ (x ** 2))");
  CHECK(shape("a ** b ** c") == "(a ** (b ** c))");
  CHECK(shape("(a ** b) ** c") == "((a ** b) ** c)");
  CHECK(shape("2 ** -x ** 2") == "(2 ** (- (x ** 2)))");
  CHECK(shape("a * b ** c * d") == "((a * (b ** c)) * d)");
  CHECK(shape("f(a) ** t[b]") == "(f(a) ** t[b])");
  CHECK(shape("a **\n  b") == "(a ** b)");
  CHECK(shape("a\n  ** b") == "(a ** b)");
  CHECK(shape("a ** not b").starts_with("error:"));
}

TEST_CASE("calls, reads and reductions", "[spec][parser]") {
  CHECK(shape("f(a, b + c)[0]").starts_with("error:"));
  CHECK(shape("t[h, q_idx / 64]") == "t[h, q_idx / 64]");
  CHECK(shape("any(i < 4 + 4: t[i] == x)") == "any(i < 4 + 4: t[i] == x)");
  CHECK(shape("min(a, b)") == "min(a, b)");
  CHECK(shape("min(i < 4: f(i))") == "min(i < 4: f(i))");
  CHECK(shape("min(min(i < 4: i), 3)") == "min(min(i < 4: i), 3)");
  CHECK(shape("max(a < b, c)") == "max(a < b, c)");
  CHECK(shape("sum(i < 2: sum(j < 3: i * j))") == "sum(i < 2: sum(j < 3: i * j))");
  CHECK(shape("any(i < (n + 1) max (2 * 8): t[i] == x)") == "any(i < n + 1 max 2 * 8: t[i] == x)");
  CHECK(shape("max(i < max(a, b) max 8: i)") == "max(i < max(a, b) max 8: i)");
}

TEST_CASE("one finding a line, and the other lines are read", "[spec][parser]") {
  const Parsed parsed =
      parse_with_errors("attention a\nparam x : i32 = = 1\nlet y = (1 + \nlet z = 3\nfoo bar\ndropout 0.5\n");
  REQUIRE(parsed.errors.size() == 3);
  CHECK(parsed.errors[0].place.line == 2);
  CHECK(parsed.errors[1].place.line == 3);
  CHECK(parsed.errors[2].place.line == 5);
  REQUIRE(parsed.ast.items.size() == 6);
  CHECK(parsed.ast.items[1].broken);
  CHECK(parsed.ast.items[1].name == "x");
  CHECK_FALSE(parsed.ast.items[3].broken);
  CHECK(parsed.ast.find(fa::ItemKind::dropout) != nullptr);
}

TEST_CASE("nesting is bounded, whatever nests", "[spec][parser]") {
  const auto nested = [](const std::string& open, const std::string& close, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += open;
    text += "x";
    for (int i = 0; i < times; ++i) text += close;
    return shape(text);
  };
  const std::string deep = "error: the expression nests more than 400 deep";
  CHECK(nested("(", ")", 5000) == deep);
  CHECK(nested("-", "", 5000) == deep);
  CHECK(nested("not ", "", 5000) == deep);
  CHECK(nested("f(", ")", 5000) == deep);
  CHECK(nested("t[", "]", 5000) == deep);
  CHECK(nested("", " + x", 5000) == deep);
  CHECK(nested("", " ** x", 5000) == deep);
  CHECK(nested("x ** -", "", 5000) == deep);
  CHECK(nested("x or ", "", 5000) == deep);
  CHECK(nested("any(i < 2: ", ")", 5000) == deep);
  CHECK_FALSE(nested("(", ")", 300).starts_with("error"));
  CHECK_FALSE(nested("", " + x", 300).starts_with("error"));
}

TEST_CASE("the tree as text, with places", "[spec][print]") {
  const Parsed parsed = parse_with_errors(
      "attention a\ntensor t : i32[batch, 2] = i0\nmask_mod = any(i < 2:\n  t[b, i] > -kv_idx)\n");
  REQUIRE(parsed.errors.empty());
  CHECK(fa::print_ast(parsed.ast) ==
        "1:1     attention a\n"
        "2:1     tensor t : i32\n"
        "2:16      extent\n"
        "2:16        name batch\n"
        "2:23      extent\n"
        "2:23        2\n"
        "2:28      name i0\n"
        "3:1     mask_mod\n"
        "3:16      any over i\n"
        "3:20        2\n"
        "4:11        binary '>'\n"
        "4:3           read t\n"
        "4:5             name b\n"
        "4:8             name i\n"
        "4:13          unary '-'\n"
        "4:14            name kv_idx\n");
}
