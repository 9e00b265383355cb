// Reads text of a later LLVM. New versions add attributes, which are promises to the optimiser that a hook
// can do without. Attributes known to be new are removed, and so are all attribute groups; other new words
// stay and are refused.
#include <array>
#include <string_view>

#include "compiler/ir/import/parts.h"
#include "compiler/ir/import/tokens.h"

namespace fa {
namespace {

// Attributes of LLVM 20 to 22 that stand at parameters and calls, and the flag `icmp samesign`.
constexpr std::array<std::string_view, 4> kNewerWords = {"captures", "dead_on_return", "initializes",
                                                         "samesign"};

bool is_newer(std::string_view word) {
  for (const std::string_view newer : kNewerWords)
    if (word == newer) return true;
  return false;
}

/// Moves past the bracketed list that begins at `at`, where one does.
std::size_t after_list(std::string_view line, std::size_t at) {
  if (at >= line.size() || line[at] != '(') return at;
  int depth = 0;
  for (; at < line.size(); ++at) {
    if (line[at] == '(') ++depth;
    if (line[at] == ')' && --depth == 0) return at + 1;
  }
  return at;
}

std::string cleaned(std::string_view line) {
  // A group must hold something.
  if (line.starts_with("attributes #")) return std::string(line.substr(0, line.find('='))) + "= { nounwind }";
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = at;
    if (line[at] == '"') {
      at = line.find('"', at + 1);
      at = at == std::string_view::npos ? line.size() : at + 1;
    } else if (line[at] == ';') {
      at = line.size();
    } else if (is_word(line[at])) {
      while (at < line.size() && is_word(line[at])) ++at;
      const bool is_name =
          begin > 0 && std::string_view("%@!#").find(line[begin - 1]) != std::string_view::npos;
      if (!is_name && is_newer(line.substr(begin, at - begin))) {
        at = after_list(line, at);
        continue;
      }
    } else {
      ++at;
    }
    out += line.substr(begin, at - begin);
  }
  return out;
}

}  // namespace

std::string without_newer_words(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += cleaned(std::string_view(text).substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace fa
