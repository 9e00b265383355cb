// docs/spec_language.md shows messages and an example; they must agree with the front end.
#include <fstream>
#include <sstream>
#include <string>

#include "fa/spec.h"
#include "tests/catch.h"

namespace {

std::string reference() {
  std::ostringstream text;
  text << std::ifstream(FA_SOURCE_DIR "/docs/spec_language.md").rdbuf();
  return text.str();
}

// A table cell without the marks around its code.
std::string code(std::string cell) {
  const std::size_t first = cell.find_first_not_of("` ");
  const bool outer = cell.find("``") != std::string::npos;
  const std::size_t last = cell.find_last_not_of("` ");
  cell = cell.substr(first, last - first + 1);
  return outer ? cell + "`" : cell;
}

}  // namespace

TEST_CASE("the reference quotes messages to the letter", "[spec][docs]") {
  std::istringstream lines(reference());
  std::string line;
  while (std::getline(lines, line) && line != "| written | message |") {
  }
  std::getline(lines, line);
  int rows = 0;
  while (std::getline(lines, line) && line.starts_with("| ")) {
    ++rows;
    const std::size_t middle = line.find(" | ");
    const std::string written = code(line.substr(2, middle - 2));
    const std::string message = code(line.substr(middle + 3, line.size() - middle - 5));
    INFO(written);
    try {
      fa::Spec::parse("attention a\ntensor slopes : f32[num_q_heads]\n" + written);
      FAIL_CHECK("no error");
    } catch (const fa::SpecError& error) {
      CHECK(error.diagnostics().at(0).message == message);
    }
  }
  CHECK(rows >= 10);
}

TEST_CASE("the reference's first example is a spec without a warning", "[spec][docs]") {
  std::istringstream lines(reference());
  std::string line, example;
  while (std::getline(lines, line) && !line.starts_with("    ")) {
  }
  do {
    example += (line.empty() ? line : line.substr(4)) + "\n";
  } while (std::getline(lines, line) && (line.empty() || line.starts_with("    ")));
  const fa::Spec spec = fa::Spec::parse(example);
  CHECK(spec.name() == "sliding_window_alibi");
  CHECK(spec.warnings().empty());
}
