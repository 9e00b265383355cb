// Validators of option values that add nothing to the help line: the descriptions name the values already.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace fa::tools {

inline CLI::Validator positive() {
  CLI::Validator validator = CLI::PositiveNumber;
  return validator.description("");
}

inline CLI::Validator not_negative() {
  CLI::Validator validator = CLI::NonNegativeNumber;
  return validator.description("");
}

inline CLI::Validator one_of(const std::vector<std::string>& words) {
  CLI::Validator validator = CLI::IsMember(words);
  return validator.description("");
}

}  // namespace fa::tools
