// Validators of option values that add nothing to the help line: the descriptions name the values already.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fa::tools {

/// A whole number from `least` to `most`, in decimal digits.
inline CLI::Validator whole_number(std::uint64_t least, std::uint64_t most, const std::string& range) {
  const auto check = [=](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_one = error == std::errc() && end == text.data() + text.size();
    if (is_one && number >= least && number <= most) return {};
    return "it is '" + text + "', it must be a whole number " + range;
  };
  return {check, ""};
}

constexpr std::uint64_t kLargestInt = std::numeric_limits<int>::max();

inline CLI::Validator positive() { return whole_number(1, kLargestInt, "of at least 1, below 2^31"); }
inline CLI::Validator not_negative() { return whole_number(0, kLargestInt, "of at least 0, below 2^31"); }
inline CLI::Validator seed() {
  return whole_number(0, std::numeric_limits<std::uint64_t>::max(), "of at least 0, below 2^64");
}

inline CLI::Validator one_of(const std::vector<std::string>& words) {
  CLI::Validator validator = CLI::IsMember(words);
  return validator.description("");
}

}  // namespace fa::tools
