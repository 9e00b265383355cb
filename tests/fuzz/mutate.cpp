#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace fa::fuzz {
namespace {

using Parts = std::vector<std::string>;

std::size_t below(Random& random, std::size_t count) { return random() % count; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// Splits a text into words (with the % or @ before them) and the bytes between them, one by one.
Parts words_of(std::string_view text) {
  Parts words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    const bool begins = is_word(text[at]) || text[at] == '%' || text[at] == '@';
    while (begins && end < text.size() && is_word(text[end])) ++end;
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

Parts lines_of(std::string_view text) {
  Parts lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

std::string join(const Parts& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

void change_line(Parts& lines, Random& random) {
  const std::size_t at = below(random, lines.size()), other = below(random, lines.size());
  switch (below(random, 3)) {
    case 0:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(lines[other]));
      break;
    default:
      std::swap(lines[at], lines[other]);
  }
}

/// Replaces a word by another word of the text or of the language: another operation, operand, type, number.
void change_word(Parts& words, Random& random, std::span<const std::string_view> own) {
  for (int tries = 0; tries < 64; ++tries) {
    std::string& word = words[below(random, words.size())];
    const std::string& other = words[below(random, words.size())];
    if (!is_word(word.back())) continue;
    if (below(random, 2) == 0)
      word = own[below(random, own.size())];
    else if (is_word(other.back()) &&
             (other[0] == '%' || other[0] == '@') == (word[0] == '%' || word[0] == '@'))
      word = std::string(other);
    else
      continue;
    return;
  }
}

void change_byte(std::string& text, Random& random) {
  const std::size_t at = below(random, text.size());
  switch (below(random, 3)) {
    case 0:
      text[at] = static_cast<char>(below(random, 256));
      break;
    case 1:
      text.erase(at, 1 + below(random, 8));
      break;
    default:
      text.insert(at, text.substr(below(random, text.size()), 1 + below(random, 24)));
  }
}

}  // namespace

std::span<const std::string_view> ir_words() {
  static constexpr std::array<std::string_view, 44> kWords = {
      "i1",  "i8",  "i32",  "i64",    "float",  "half",  "ptr",        "double", "add",
      "sub", "mul", "sdiv", "udiv",   "srem",   "urem",  "shl",        "lshr",   "ashr",
      "and", "or",  "xor",  "zext",   "sext",   "trunc", "fadd",       "fmul",   "fdiv",
      "slt", "ult", "eq",   "select", "freeze", "load",  "undef",      "poison", "zeroinitializer",
      "0",   "1",   "-1",   "31",     "64",     "4097",  "2147483648", "true"};
  return kWords;
}

std::span<const std::string_view> spec_words() {
  static constexpr std::array<std::string_view, 48> kWords = {
      "score", "b",     "h",      "q_idx",    "kv_idx",    "batch", "q_len",      "kv_len",  "and", "or",
      "not",   "where", "min",    "max",      "abs",       "floor", "exp",        "tanh",    "sin", "log",
      "sqrt",  "rsqrt", "i32",    "f32",      "bool",      "f16",   "bf16",       "i64",     "any", "all",
      "sum",   "true",  "inf",    "0",        "1",         "64",    "4096",       "65537",   "0.5", "1e38",
      "let",   "param", "tensor", "mask_mod", "score_mod", "sink",  "2147483648", "head_dim"};
  return kWords;
}

std::string mutated(std::string text, Random& random, std::span<const std::string_view> words) {
  for (std::size_t changes = 1 + below(random, 3); changes > 0 && !text.empty(); --changes) {
    const std::size_t kind = below(random, 8);
    if (kind == 0) {
      change_byte(text, random);
      continue;
    }
    const bool by_line = kind < 3;
    Parts parts = by_line ? lines_of(text) : words_of(text);
    by_line ? change_line(parts, random) : change_word(parts, random, words);
    text = join(parts);
  }
  return text;
}

}  // namespace fa::fuzz
