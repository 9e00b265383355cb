// The words of textual LLVM IR, as far as looking over a file before LLVM parses it needs them. Internal to
// compiler/ir/import.
#pragma once

#include <string_view>

namespace fa {

/// Whether it may stand inside a word or a name.
bool is_word(char c);

struct IrToken {
  enum class Kind { word, name, string, mark, end };
  Kind kind = Kind::end;
  std::string_view text;  // a name with the % or @ before it; a mark is one character
  int line = 1, column = 1;
  bool begins_line = false;
};

/// Reads tokens one by one and skips comments and spaces. Every call ends, for any bytes.
class IrTokens {
 public:
  explicit IrTokens(std::string_view text) : text_(text) {}
  IrToken next();

 private:
  void skip_spaces();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  bool begins_line_ = true;
};

}  // namespace fa
