// Splits text into logical lines of tokens. This never fails: text that is no token becomes a token of its
// own kind, which the parser reports.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/spec/source.h"

namespace fa {

enum class TokenKind : std::uint8_t {
  name,        // also the words of the language: `and`, `tensor`, ...
  integer,     // decimal, 0x or 0b; int_value
  floating,    // 1.5, 2e-3, .5; float_value
  symbol,      // operators and brackets, by their text; also every other printable ASCII character
  string,      // "mask.ll", with its quotes; no escapes
  bad_number,  // 12abc, 0b2, 1e
  bad_string,  // without an end, or with something inside that is not printable ASCII
  bad_byte,    // a control character or something outside ASCII
  end_of_line  // of the logical line
};

struct Token {
  TokenKind kind = TokenKind::end_of_line;
  std::string_view text{};  // into the source
  Span span{};
  std::uint64_t int_value = 0;  // saturated
  double float_value = 0;       // infinite where the number is out of a double's range

  bool is(std::string_view symbol_or_word) const {
    return (kind == TokenKind::symbol || kind == TokenKind::name) && text == symbol_or_word;
  }
};

/// A logical line: its tokens and a closing end_of_line that stands right after the last of them.
using Line = std::vector<Token>;

/// Splits into logical lines, none of them empty. A line goes on inside brackets, after a binary operator,
/// `=`, `,` or `:`, and where the next line begins with a binary operator, `and`, `or` or `=`. A line that
/// begins with an item's word always ends the line before, so that an open bracket spoils one item and not
/// the file.
std::vector<Line> lex(const SourceText& source);

/// Operators with two operands, `and` and `or` included.
bool is_binary_operator(const Token& token);

}  // namespace fa
