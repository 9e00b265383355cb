// Splits text into logical lines of tokens.
#include "compiler/spec/parse/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

#include "compiler/spec/parse/ast.h"

namespace fa {
namespace {

// These two item words are also names of expressions, so at the beginning of a line they may go on with the
// one before.
constexpr std::array<std::string_view, 2> kItemWordsAndNames = {"head_dim", "head_dim_v"};

// The last five are not operators of the language. As one token each they get a better message.
constexpr std::array<std::string_view, 12> kTwoCharacters = {
    "<<", ">>", "<=", ">=", "==", "!=", "**", "//", "&&", "||", "->", "=>"};
constexpr std::array<std::string_view, 19> kBinary = {"+", "-",  "*", "/",  "%",  "<<", ">>",  "&",  "|", "^",
                                                      "<", "<=", ">", ">=", "==", "!=", "and", "or", "**"};

template <typename List>
bool among(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::uint64_t integer(std::string_view digits, int base, bool& ok) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  ok = !digits.empty() && end == digits.data() + digits.size() && status != std::errc::invalid_argument;
  return status == std::errc::result_out_of_range ? std::numeric_limits<std::uint64_t>::max() : value;
}

double floating(std::string_view text, bool& ok) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  ok = end == text.data() + text.size() && status != std::errc::invalid_argument;
  return status == std::errc::result_out_of_range ? std::numeric_limits<double>::infinity() : value;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
  }

  // The next token, or end_of_line at a physical line's end and at the end of the text.
  Token next() {
    skip_blanks();
    const std::size_t begin = at_;
    Token token;
    if (at_ == text_.size()) return finish(token, begin);
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
    } else if (is_letter(c)) {
      token.kind = TokenKind::name;
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      number(token);
    } else if (c == '"') {
      string(token);
    } else if (c > 0x20 && c < 0x7f) {
      token.kind = TokenKind::symbol;
      at_ += among(kTwoCharacters, text_.substr(at_, 2)) ? 2 : 1;
    } else {
      token.kind = TokenKind::bad_byte;
      at_ += static_cast<std::size_t>(std::max(1, utf8_length(text_, at_)));
    }
    return finish(token, begin);
  }

  bool done() const { return at_ == text_.size(); }

 private:
  Token finish(Token token, std::size_t begin) const {
    token.text = text_.substr(begin, at_ - begin);
    token.span = {.begin = static_cast<std::uint32_t>(begin), .end = static_cast<std::uint32_t>(at_)};
    return token;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  // Reads up to the closing quote, or to the end of the line where there is none.
  void string(Token& token) {
    token.kind = TokenKind::string;
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return;
      }
      if (text_[at_] < 0x20 || text_[at_] > 0x7e) token.kind = TokenKind::bad_string;
    }
    token.kind = TokenKind::bad_string;
  }

  // Takes everything that a reader sees as one number, then decides what it is: `12abc` is one bad number.
  void number(Token& token) {
    const std::size_t begin = at_;
    const bool prefixed = text_[at_] == '0' && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]) &&
                          text_[at_ + 1] != 'e' && text_[at_ + 1] != 'E';
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent_sign = !prefixed && (c == '+' || c == '-') && at_ > begin &&
                                 (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!is_letter(c) && !is_digit(c) && c != '.' && !exponent_sign) break;
      ++at_;
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    bool ok = false;
    if (prefixed) {
      const int base = text[1] == 'x' || text[1] == 'X' ? 16 : text[1] == 'b' || text[1] == 'B' ? 2 : 0;
      if (base != 0) token.int_value = integer(text.substr(2), base, ok);
      token.kind = TokenKind::integer;
    } else if (std::all_of(text.begin(), text.end(), is_digit)) {
      token.int_value = integer(text, 10, ok);
      token.kind = TokenKind::integer;
    } else {
      token.float_value = floating(text, ok);
      token.kind = TokenKind::floating;
    }
    // 017 means fifteen in some languages and seventeen in others, so it is refused.
    const bool leading_zero = text.size() > 1 && text[0] == '0' && is_digit(text[1]);
    if (!ok || leading_zero) token.kind = TokenKind::bad_number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool goes_on_after(const Token& last) {
  return is_binary_operator(last) || last.is("=") || last.is(",") || last.is(":") || last.is("not") ||
         last.is("~");
}

bool ends_line_before(const Token& first, const Line& line, int depth) {
  const bool item_word = first.kind == TokenKind::name && item_kind(first.text).has_value();
  if (item_word && !among(kItemWordsAndNames, first.text)) return true;
  return depth == 0 && !goes_on_after(line.back()) && !is_binary_operator(first) && !first.is("=");
}

void finish(Line& line, std::vector<Line>& lines) {
  const std::uint32_t end = line.back().span.end;
  line.push_back({.kind = TokenKind::end_of_line, .span = {.begin = end, .end = end}});
  lines.push_back(std::move(line));
  line.clear();
}

}  // namespace

bool is_binary_operator(const Token& token) {
  return (token.kind == TokenKind::symbol || token.kind == TokenKind::name) && among(kBinary, token.text);
}

std::vector<Line> lex(const SourceText& source) {
  Scanner scanner(source.text());
  std::vector<Line> lines;
  Line line;
  int depth = 0;
  bool first_of_physical_line = true;
  while (true) {
    const Token token = scanner.next();
    if (token.kind == TokenKind::end_of_line) {
      if (scanner.done() && token.text.empty()) break;
      first_of_physical_line = true;
      continue;
    }
    if (first_of_physical_line && !line.empty() && ends_line_before(token, line, depth)) {
      finish(line, lines);
      depth = 0;
    }
    first_of_physical_line = false;
    if (token.is("(") || token.is("[")) ++depth;
    if ((token.is(")") || token.is("]")) && depth > 0) --depth;
    line.push_back(token);
  }
  if (!line.empty()) finish(line, lines);
  return lines;
}

}  // namespace fa
