// LLVM 19's text parser makes a block of a label that it has not met yet. Where that label is the operand of
// an instruction that makes a value, `select i1 %c, label %2, label %3`, the value takes the block's place
// and its memory is freed twice. Verification would refuse such text, but comes too late.
#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/ir/import/parts.h"
#include "compiler/ir/import/tokens.h"

namespace fa {
namespace {

// Instructions whose values have the type of their operands, as far as the parser asks.
constexpr std::array<std::string_view, 4> kOfAnyType = {"select", "phi", "freeze", "va_arg"};

}  // namespace

int line_of_label_value(std::string_view text) {
  bool is_of_any_type = false;  // the instruction at hand
  bool begins = true;           // nothing but a result's name before it
  IrTokens tokens(text);
  for (IrToken token = tokens.next(); token.kind != IrToken::Kind::end; token = tokens.next()) {
    begins |= token.begins_line || token.text == "=";
    if (token.kind != IrToken::Kind::word) continue;
    if (token.text == "label" && is_of_any_type) return token.line;
    if (std::ranges::find(kOfAnyType, token.text) != kOfAnyType.end())
      is_of_any_type = true;
    else if (begins && token.text != "label")
      is_of_any_type = false;
    begins = false;
  }
  return 0;
}

}  // namespace fa
