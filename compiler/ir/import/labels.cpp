// LLVM 19's text parser makes a block of a label that it has not met yet. Where that label is the operand of
// an instruction that makes a value, `select i1 %c, label %2, label %3`, the value takes the block's place
// and its memory is freed twice. Verification would refuse such text, but comes too late.
#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/ir/import/parts.h"

namespace fa {
namespace {

// Instructions whose values have the type of their operands, as far as the parser asks.
constexpr std::array<std::string_view, 4> kOfAnyType = {"select", "phi", "freeze", "va_arg"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '$';
}

}  // namespace

int line_of_label_value(std::string_view text) {
  int line = 1;
  bool is_of_any_type = false;  // the instruction at hand
  bool begins = true;           // nothing but a result's name before it
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char c = text[at++];
    if (c == '\n') {
      ++line;
      begins = true;
    } else if (c == '=') {
      begins = true;
    } else if (c == ';') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"') {
      const std::size_t end = std::min(text.find('"', at), text.size() - 1) + 1;
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                          text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      at = end;
    } else if (c == '%' || c == '@') {
      while (at < text.size() && is_word(text[at])) ++at;
    } else if (is_word(c)) {
      while (at < text.size() && is_word(text[at])) ++at;
      const std::string_view word = text.substr(begin, at - begin);
      if (word == "label" && is_of_any_type) return line;
      if (std::ranges::find(kOfAnyType, word) != kOfAnyType.end())
        is_of_any_type = true;
      else if (begins && word != "label")
        is_of_any_type = false;
      begins = false;
    }
  }
  return 0;
}

}  // namespace fa
