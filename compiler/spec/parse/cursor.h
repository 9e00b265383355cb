// Walks the tokens of one logical line and words what is wrong with the next one.
#pragma once

#include <string>
#include <string_view>

#include "compiler/spec/parse/lexer.h"
#include "compiler/spec/source.h"

namespace fa {

/// Thrown once a finding is recorded; the parser catches it at the end of the logical line.
struct LineSpoiled {};

class Cursor {
 public:
  Cursor(const Line& line, Findings& findings) : line_(line), findings_(findings) {}

  const Token& peek(std::size_t ahead = 0) const;
  Token take();
  bool at_end() const { return peek().kind == TokenKind::end_of_line; }
  bool take_if(std::string_view symbol_or_word);

  /// Each of these records one finding where the next token does not fit, and throws LineSpoiled.
  /// `unexpected` is for expressions: it knows common words of other languages and their names in this one.
  void expect(std::string_view symbol, std::string_view after);
  Token expect_name(std::string_view what);
  Token expect_string(std::string_view what);
  void expect_end(std::string_view expected);
  [[noreturn]] void unexpected(std::string_view expected);
  [[noreturn]] void fail(Span span, std::string message, std::string remedy = {});

 private:
  [[noreturn]] void refuse(std::string_view expected, std::string_view remedy);

  const Line& line_;
  Findings& findings_;
  std::size_t at_ = 0;
};

/// A token as messages show it: `'<='`, `the end of the line`.
std::string describe(const Token& token);

}  // namespace fa
