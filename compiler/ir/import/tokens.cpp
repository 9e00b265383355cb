// Follows LLVM's own lexer (LLLexer): a comment ends at either kind of line break, a string at the next
// quote, even on a later line.
#include "compiler/ir/import/tokens.h"

#include <algorithm>

namespace fa {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '$';
}

void IrTokens::skip_spaces() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
      begins_line_ = true;
    } else if (c == ';') {
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size()) - 1;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\0') {
      return;
    }
  }
}

IrToken IrTokens::next() {
  skip_spaces();
  IrToken token{.kind = IrToken::Kind::end,
                .text = {},
                .line = line_,
                .column = static_cast<int>(at_ - line_begin_) + 1,
                .begins_line = begins_line_};
  if (at_ >= text_.size()) return token;
  begins_line_ = false;
  const std::size_t begin = at_;
  const char c = text_[at_++];
  if (c == '"') {
    token.kind = IrToken::Kind::string;
    at_ = text_.find('"', at_);
    at_ = at_ == std::string_view::npos ? text_.size() : at_ + 1;
    const std::string_view inside = text_.substr(begin, at_ - begin);
    line_ += static_cast<int>(std::count(inside.begin(), inside.end(), '\n'));
    if (const std::size_t last = inside.rfind('\n'); last != std::string_view::npos)
      line_begin_ = begin + last + 1;
  } else if (c == '%' || c == '@') {
    token.kind = IrToken::Kind::name;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  } else if (is_word(c)) {
    token.kind = IrToken::Kind::word;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  } else {
    token.kind = IrToken::Kind::mark;
  }
  token.text = text_.substr(begin, at_ - begin);
  return token;
}

}  // namespace fa
