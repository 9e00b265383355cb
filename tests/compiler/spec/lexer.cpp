// Tokens, and where logical lines end.
#include "compiler/spec/parse/lexer.h"

#include <cmath>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace {

using fa::TokenKind;

// The tokens of each logical line, joined by spaces.
std::vector<std::string> lines(const std::string& text) {
  const fa::SourceText source("test", text);
  std::vector<std::string> all;
  for (const fa::Line& line : fa::lex(source)) {
    std::string joined;
    for (const fa::Token& token : line) {
      if (token.kind == TokenKind::end_of_line) continue;
      joined += (joined.empty() ? "" : " ") + std::string(token.text);
    }
    all.push_back(joined);
  }
  return all;
}

struct Number {
  TokenKind kind;
  double value;
};

Number number(const std::string& text) {
  const fa::SourceText source("test", text);
  const fa::Token token = fa::lex(source).at(0).at(0);
  CHECK(token.text == text);
  return {token.kind,
          token.kind == TokenKind::integer ? static_cast<double>(token.int_value) : token.float_value};
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("numbers", "[spec][lexer]") {
  CHECK(number("42").kind == TokenKind::integer);
  CHECK(number("0").value == 0);
  CHECK(number("0xff").value == 255);
  CHECK(number("0b101").value == 5);
  CHECK(number("1.5").value == 1.5);
  CHECK(number("1.").value == 1);
  CHECK(number(".5").value == 0.5);
  CHECK(number("2e-3").value == 2e-3);
  CHECK(number("2E+3").value == 2000);
  CHECK(number("0e5").value == 0);
  CHECK(std::isinf(number("1e999").value));
  CHECK(number("99999999999999999999999").value > 1e19);
  for (const char* bad :
       {"017", "00.5", "12abc", "0b2", "0x", "1e", "1_000", "2.0f", "1.2.3", "1..2", "0o7"}) {
    INFO(bad);
    CHECK(number(bad).kind == TokenKind::bad_number);
  }
}

TEST_CASE("symbols are taken as long as they go", "[spec][lexer]") {
  CHECK(lines("a<<b<=c<d==e!=f**g//h&&i||j->k") ==
        Lines{"a << b <= c < d == e != f ** g // h && i || j -> k"});
  CHECK(lines("a--b") == Lines{"a - - b"});
}

TEST_CASE("comments, blanks and line ends", "[spec][lexer]") {
  CHECK(lines("").empty());
  CHECK(lines("# only a comment").empty());
  CHECK(lines("\n \t\n\n").empty());
  CHECK(lines("\xef\xbb\xbf"
              "a # b\r\n\tc\r\n") == Lines{"a", "c"});
}

TEST_CASE("a logical line goes on", "[spec][lexer]") {
  SECTION("inside brackets") { CHECK(lines("let a = f(1,\n\n # note\n 2\n)\nlet b = 1").size() == 2); }
  SECTION("after an operator") { CHECK(lines("let a = 1 +\n 2\nlet b =\n 3 and\n not\n c").size() == 2); }
  SECTION("before an operator") {
    CHECK(lines("let a = 1\n + 2\n - 3\n or b\n\n and c\nlet b = 1").size() == 2);
  }
  SECTION("before =") { CHECK(lines("tensor t : f32[1]\n = 2") == Lines{"tensor t : f32 [ 1 ] = 2"}); }
  SECTION("but not otherwise") { CHECK(lines("a\nb\n(c)\n~d") == Lines{"a", "b", "( c )", "~ d"}); }
}

TEST_CASE("an item's word ends an open line, head_dim only where a line may end", "[spec][lexer]") {
  CHECK(lines("let a = (1 +\nlet b = 2") == Lines{"let a = ( 1 +", "let b = 2"});
  CHECK(lines("let a = [1\nmask_mod = x\n") == Lines{"let a = [ 1", "mask_mod = x"});
  CHECK(lines("let a = f(1,\nhead_dim)\nhead_dim 64") == Lines{"let a = f ( 1 , head_dim )", "head_dim 64"});
  // The bracket left open does not reach into the next lines.
  CHECK(lines("let a = (1\nlet b = 2\nlet c = 3").size() == 3);
}

TEST_CASE("bytes that are no text", "[spec][lexer]") {
  const fa::SourceText source("test", std::string("a \0 b \x01 \xff \xe2\x89\xa5", 13));
  const fa::Line line = fa::lex(source).at(0);
  CHECK(line.at(1).kind == TokenKind::bad_byte);
  CHECK(line.at(3).kind == TokenKind::bad_byte);
  CHECK(line.at(4).text == "\xff");
  CHECK(line.at(5).text == "\xe2\x89\xa5");
}

TEST_CASE("places count characters", "[spec][source]") {
  const fa::SourceText source("f", "x\n\xc3\xa9 = y\r\n");
  const fa::Place place = source.place({.begin = 7, .end = 8});
  CHECK(place.line == 2);
  CHECK(place.column == 5);
  CHECK(source.line(2) == "\xc3\xa9 = y");
  CHECK(source.line(9).empty());
  CHECK(source.place({}).line == 0);
}
