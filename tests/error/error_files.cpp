// Every *.fa here is wrong. Its first comment lines are the findings that it must cause, to the letter and in
// order:
//   # expect: LINE:COLUMN: error: MESSAGE
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fa/spec.h"
#include "tests/catch.h"

namespace {

std::vector<std::filesystem::path> error_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FA_SOURCE_DIR "/tests/error")) {
    if (entry.path().extension() == ".fa") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> expected(const std::filesystem::path& path) {
  const std::string prefix = "# expect: ";
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && line.starts_with(prefix);) {
    lines.push_back(path.string() + ":" + line.substr(prefix.size()));
  }
  return lines;
}

std::vector<std::string> found(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  try {
    fa::Spec::load(path.string());
  } catch (const fa::SpecError& error) {
    for (const fa::Diagnostic& finding : error.diagnostics()) {
      const std::string text = finding.render();
      lines.push_back(text.substr(0, text.find('\n')));
    }
    // The exception's own text begins with the first of them.
    if (!lines.empty()) CHECK(std::string(error.what()).substr(0, lines[0].size()) == lines[0]);
  }
  return lines;
}

}  // namespace

TEST_CASE("every bad spec draws exactly the findings it names", "[error]") {
  const std::vector<std::filesystem::path> files = error_files();
  CHECK(files.size() >= 60);
  for (const std::filesystem::path& path : files) {
    INFO(path.filename().string());
    const std::vector<std::string> want = expected(path);
    CHECK_FALSE(want.empty());
    CHECK(found(path) == want);
  }
}
