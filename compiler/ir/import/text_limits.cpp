// LLVM's text parser and verifier recurse into nested brackets, and through types, aliases and metadata that
// refer to each other. They read long integers in quadratic time, and vectors element by element. So text
// that would end the process is refused before LLVM sees it. No compiler writes files near these limits.
#include <fmt/format.h>

#include <string_view>

#include "compiler/ir/import/parts.h"
#include "compiler/ir/import/tokens.h"

namespace fa {
namespace {

constexpr int kDeepestBrackets = 256;
constexpr std::size_t kLongestNumber = 128;  // characters; a 128-bit number has 39
constexpr int kMostElements = 1024;          // of a vector
// Each may lead to the next: about 300 bytes of stack for one of metadata, half of that for a type.
constexpr int kMostMetadata = 8192;
constexpr int kMostTypes = 8192;
constexpr int kMostAliases = 1024;

using Kind = IrToken::Kind;

class Limits {
 public:
  void look_at(const IrToken& token) {
    token_ = token;
    if (token.kind == Kind::mark) mark(token.text[0]);
    if (token.kind == Kind::word) word(token.text);
    before_last_ = last_;
    last_ = token.text;
  }

 private:
  void mark(char c) {
    if (std::string_view("([{<").find(c) != std::string_view::npos && ++depth_ > kDeepestBrackets)
      refuse(fmt::format("brackets nest more than {} deep", kDeepestBrackets));
    if (std::string_view(")]}>").find(c) != std::string_view::npos && depth_ > 0) --depth_;
    if (c == '=' && before_last_ == "!") count(metadata_, kMostMetadata, "metadata nodes");  // `!7 = ...`
  }

  void word(std::string_view text) {
    const char first = text[0];
    if ((first >= '0' && first <= '9') || first == '-') number(text);
    if (text == "type" && last_ == "=") count(types_, kMostTypes, "types");  // `%T = type ...`
    if (text == "alias" || text == "ifunc") count(aliases_, kMostAliases, "aliases");
  }

  void number(std::string_view text) {
    if (text.size() > kLongestNumber)
      refuse(fmt::format("a number has {} characters; at most {} are taken", text.size(), kLongestNumber));
    // `<4 x float>` or `<vscale x 4 x float>`
    if (last_ != "<" && (last_ != "x" || before_last_ != "vscale")) return;
    int elements = 0;
    for (const char digit : text) {
      if (digit < '0' || digit > '9') break;  // `<4x float>` is one word
      elements = elements * 10 + (digit - '0');
      if (elements > kMostElements) refuse(fmt::format("a vector has more than {} elements", kMostElements));
    }
  }

  void count(int& so_far, int most, std::string_view what) {
    if (++so_far > most) refuse(fmt::format("more than {} {}", most, what));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Refusal{fmt::format("{}:{}: {}", token_.line, token_.column, what),
                  "give the file as a compiler wrote it, with the hook and what it calls alone"};
  }

  int depth_ = 0, metadata_ = 0, types_ = 0, aliases_ = 0;
  IrToken token_;
  std::string_view last_, before_last_;  // of the words before it
};

}  // namespace

void refuse_unreadable_text(std::string_view text) {
  Limits limits;
  IrTokens tokens(text);
  for (IrToken token = tokens.next(); token.kind != Kind::end; token = tokens.next()) limits.look_at(token);
}

}  // namespace fa
