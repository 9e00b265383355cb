// Walks a line, and words the message where the next token does not fit.
#include "compiler/spec/parse/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fa {
namespace {

// What people write out of habit from another language.
struct Habit {
  std::string_view text, remedy;
};
constexpr std::array<Habit, 22> kHabits = {{
    {"&&", "write `and`"},
    {"||", "write `or`"},
    {"!", "write `not`"},
    {"//", "write `/`: on two integers it already rounds down"},
    {"=", "to compare, write `==`"},
    {"?", "write where(condition, a, b)"},
    {"if", "write where(condition, a, b)"},
    {"else", "write where(condition, a, b)"},
    {";", "end the line; each item stands on a line of its own"},
    {"{", "group with ( )"},
    {"}", "group with ( )"},
    {"\\", "drop it: a line goes on inside brackets and after an operator"},
    {"'", "the language has no strings"},
    {"in", "write any(i < N: table[i] == x)"},
    {"for", "write a reduction, such as sum(i < 8: table[i])"},
    {"lambda", "write the expression itself; names such as q_idx are in scope"},
    {"return", "write the expression itself"},
    {"xor", "write `^` on integers, `!=` on conditions"},
    {"mod", "write `%`"},
    {"div", "write `/`: on two integers it rounds down"},
    {"is", "to compare, write `==`"},
}};

std::string_view habit_remedy(const Token& token) {
  if (token.kind == TokenKind::string)
    return "only the file of a hook stands in quotes: `mask_mod from \"mask.ll\"`";
  if (token.kind != TokenKind::symbol && token.kind != TokenKind::name) return {};
  const auto found =
      std::find_if(kHabits.begin(), kHabits.end(), [&](const Habit& h) { return h.text == token.text; });
  return found == kHabits.end() ? std::string_view{} : found->remedy;
}

}  // namespace

std::string describe(const Token& token) {
  constexpr std::size_t kShown = 40;
  if (token.kind == TokenKind::end_of_line) return "the end of the line";
  // A control character or a stray byte would be invisible, or would control the terminal.
  const bool control =
      token.text.size() == 1 || (token.text.size() == 2 && token.text[0] == '\xc2' && token.text[1] < '\xa0');
  if (token.kind == TokenKind::bad_byte && control) {
    return fmt::format("byte 0x{:02x}", static_cast<unsigned char>(token.text.back()));
  }
  if (token.text.size() > kShown) return fmt::format("'{}...'", token.text.substr(0, kShown));
  return fmt::format("'{}'", token.text);
}

const Token& Cursor::peek(std::size_t ahead) const { return line_[std::min(at_ + ahead, line_.size() - 1)]; }

Token Cursor::take() {
  const Token token = peek();
  if (!at_end()) ++at_;
  return token;
}

bool Cursor::take_if(std::string_view symbol_or_word) {
  if (!peek().is(symbol_or_word)) return false;
  take();
  return true;
}

void Cursor::expect(std::string_view symbol, std::string_view after) {
  if (!take_if(symbol)) refuse(fmt::format("'{}' after {}", symbol, after), {});
}

Token Cursor::expect_name(std::string_view what) {
  const bool word = peek().is("and") || peek().is("or") || peek().is("not");
  if (peek().kind != TokenKind::name || word) refuse(what, {});
  return take();
}

Token Cursor::expect_string(std::string_view what) {
  if (peek().kind != TokenKind::string) refuse(what, {});
  return take();
}

void Cursor::expect_end(std::string_view expected) {
  if (!at_end()) unexpected(expected);
}

void Cursor::unexpected(std::string_view expected) { refuse(expected, habit_remedy(peek())); }

void Cursor::refuse(std::string_view expected, std::string_view remedy) {
  const Token& token = peek();
  if (token.kind == TokenKind::bad_number) {
    fail(token.span, fmt::format("{} is not a number", describe(token)),
         "numbers read 42, 0xff, 0b101, 1.5, 2e-3 or .5, with no suffix and no leading zero");
  }
  if (token.kind == TokenKind::bad_string) {
    fail(token.span, "a text in quotes is printable ASCII and ends on its line", "close it with '\"'");
  }
  if (token.kind == TokenKind::bad_byte) {
    fail(token.span, fmt::format("unexpected {}", describe(token)), "outside comments a spec is plain ASCII");
  }
  fail(token.span, fmt::format("expected {}, found {}", expected, describe(token)), std::string(remedy));
}

void Cursor::fail(Span span, std::string message, std::string remedy) {
  findings_.error(span, std::move(message), std::move(remedy));
  throw LineSpoiled{};
}

}  // namespace fa
