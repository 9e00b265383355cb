// Changes texts so that most of them still parse: by whole lines, by words, and now and then by a byte.
#pragma once

#include <random>
#include <span>
#include <string>
#include <string_view>

namespace fa::fuzz {

using Random = std::minstd_rand;

/// Words of LLVM IR, and of specs, that may take the place of others.
std::span<const std::string_view> ir_words();
std::span<const std::string_view> spec_words();

/// One to three changes.
std::string mutated(std::string text, Random& random, std::span<const std::string_view> words);

}  // namespace fa::fuzz
