// How libFuzzer changes LLVM IR: half of the time by whole lines and words, so that the text still parses and
// reaches the code after the parser; else byte by byte.
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/mutate.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  fa::fuzz::Random random(seed + 1);
  if (size == 0 || random() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text =
      fa::fuzz::mutated(std::string(reinterpret_cast<const char*>(data), size), random, fa::fuzz::ir_words());
  text.resize(std::min(text.size(), max_size));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
