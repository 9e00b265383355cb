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

/// How the name of a validator begins that has the words themselves after it, for completion.
constexpr std::string_view kWords = "words: ";

inline CLI::Validator named_by(CLI::Validator validator, const std::vector<std::string>& words) {
  return validator.description("").name(std::string(kWords) + CLI::detail::join(words, " "));
}

/// The words of a validator that names them, else none.
inline std::vector<std::string> named_words(const CLI::Validator& validator) {
  const std::string& name = validator.get_name();
  if (!name.starts_with(kWords)) return {};
  return CLI::detail::split(name.substr(kWords.size()), ' ');
}

/// The name of a file: `--out --verify` forgot it, and is not about a file of that name.
inline CLI::Validator file_name() {
  const auto check = [](const std::string& text) -> std::string {
    if (!text.starts_with("--")) return {};
    return "it is '" + text + "', which looks like an option; a file of that name is './" + text + "'";
  };
  return {check, ""};
}

/// The name of a file that is written. - means standard input elsewhere, so that nobody wants a file of that name.
inline CLI::Validator output_name() {
  const auto check = [](const std::string& text) -> std::string {
    if (text != "-") return {};
    return "it is '-': write /dev/stdout for standard output, or './-' for a file of that name";
  };
  return file_name() & CLI::Validator(check, "");
}

inline CLI::Validator one_of(const std::vector<std::string>& words) {
  return named_by(CLI::IsMember(words), words);
}

/// Refuses nothing: the words are what completion offers, and whoever uses the value says what else it may
/// be.
inline CLI::Validator suggested(const std::vector<std::string>& words) {
  return named_by({[](const std::string&) { return std::string(); }, ""}, words);
}

}  // namespace fa::tools
