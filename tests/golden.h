// Golden texts: what a stage prints for a spec, kept in tests/golden/SPEC/ and compared to the letter. After
// a change that is meant, run the tests once with FA_UPDATE_GOLDEN=1 in the environment: they rewrite the
// files and pass. Then read `git diff tests/golden` as part of the review.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.h"

namespace fa::test {

/// Compares `text` with tests/golden/NAME.
inline void check_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(FA_SOURCE_DIR) / "tests" / "golden" / name;
  const char* update = std::getenv("FA_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream known;
  known << file.rdbuf();
  INFO(path.string() << " (FA_UPDATE_GOLDEN=1 rewrites it)");
  CHECK(known.str() == text);
}

/// The names of specs/*.fa without the ending, sorted.
inline std::vector<std::string> all_specs() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(FA_SOURCE_DIR) / "specs"))
    if (entry.path().extension() == ".fa") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string spec_path(const std::string& name) {
  return (std::filesystem::path(FA_SOURCE_DIR) / "specs" / (name + ".fa")).string();
}

}  // namespace fa::test
