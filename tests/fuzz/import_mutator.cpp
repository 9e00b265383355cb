// How libFuzzer changes LLVM IR: half of the time by whole lines and words, so that the text still parses and
// what comes after the parser is reached; else byte by byte.
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed);

namespace {

using Random = std::minstd_rand;
using Parts = std::vector<std::string>;

std::size_t below(Random& random, std::size_t count) { return random() % count; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// Words (with the % or @ before them) and what lies between, one byte each.
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

/// Another word of the same text or one of IR's own in a word's place: another operation, operand, type,
/// number.
void change_word(Parts& words, Random& random) {
  constexpr std::array<std::string_view, 44> kOwn = {
      "i1",  "i8",  "i32",  "i64",    "float",  "half",  "ptr",        "double", "add",
      "sub", "mul", "sdiv", "udiv",   "srem",   "urem",  "shl",        "lshr",   "ashr",
      "and", "or",  "xor",  "zext",   "sext",   "trunc", "fadd",       "fmul",   "fdiv",
      "slt", "ult", "eq",   "select", "freeze", "load",  "undef",      "poison", "zeroinitializer",
      "0",   "1",   "-1",   "31",     "64",     "4097",  "2147483648", "true"};
  for (int tries = 0; tries < 64; ++tries) {
    std::string& word = words[below(random, words.size())];
    const std::string& other = words[below(random, words.size())];
    if (!is_word(word.back())) continue;
    if (below(random, 2) == 0)
      word = kOwn[below(random, kOwn.size())];
    else if (is_word(other.back()) &&
             (other[0] == '%' || other[0] == '@') == (word[0] == '%' || word[0] == '@'))
      word = std::string(other);
    else
      continue;
    return;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  Random random(seed + 1);
  if (size == 0 || below(random, 2) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (std::size_t changes = 1 + below(random, 3); changes > 0 && !text.empty(); --changes) {
    const bool by_line = below(random, 3) == 0;
    Parts parts = by_line ? lines_of(text) : words_of(text);
    by_line ? change_line(parts, random) : change_word(parts, random);
    text = join(parts);
  }
  text.resize(std::min(text.size(), max_size));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
