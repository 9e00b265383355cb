// Command lines of random words, and .npy files, bundles and cache entries with random bytes changed, with
// fixed seeds. Each is carried out, or refused with a message, without a signal or another exception.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/catch.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"
#include "tests/tools/temporary.h"

using namespace fa::fuzz;
using fa::tools::read_file;

namespace {

/// The words of tests/fuzz/cli.dict, one "..." per line.
std::vector<std::string> command_words() {
  std::ifstream file(std::filesystem::path(FA_SOURCE_DIR) / "tests/fuzz/cli.dict");
  std::vector<std::string> words = {"t.fa", "-1",          "0",     "1",    "64", "4096",
                                    "1e9",  "99999999999", "sm_80", "h200", "="};
  for (std::string line; std::getline(file, line);)
    if (line.size() > 2 && line.front() == '"' && line.back() == '"')
      words.push_back(line.substr(1, line.size() - 2));
  return words;
}

/// The bytes with one byte changed, inserted or removed.
void change(std::string& text, Random& random) {
  const std::size_t at = random() % (text.size() + 1);
  const auto byte = static_cast<char>(random() % 256);
  if (at == text.size() || random() % 3 == 0)
    text.insert(at, 1, byte);
  else if (random() % 2 == 0)
    text.erase(at, 1);
  else
    text[at] = byte;
}

std::string command_line(const std::vector<std::string>& words, Random& random) {
  constexpr const char* kCommands[] = {"check",  "explain", "emit", "run",        "build", "bench",
                                       "bundle", "cache",   "tune", "completion", "help"};
  std::string line = kCommands[random() % std::size(kCommands)];
  if (random() % 4 != 0) line += "\nt.fa";
  for (unsigned count = random() % 7; count > 0; --count) {
    std::string word = words[random() % words.size()];
    if (random() % 4 == 0) change(word, random);
    line += "\n" + word;
  }
  if (random() % 50 == 0) change(line, random);
  return line;
}

template <class Make>
void run(void (*target)(std::string_view), int count, unsigned seed, Make make) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const std::string input = make(random);
    INFO("number " << i << " of seed " << seed);
    try {
      target(input);
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what() << " by:\n" << input);
    }
  }
}

void run_command_lines(int count, unsigned seed) {
  const std::vector<std::string> words = command_words();
  REQUIRE(words.size() > 60);
  run(fuzz_cli, count, seed, [&](Random& random) { return command_line(words, random); });
}

void run_changed_files(int count, unsigned seed) {
  for (const char* name : {"npy", "bundle", "cache"}) {
    std::vector<std::string> files;
    const auto folder = std::filesystem::path(FA_SOURCE_DIR) / "tests/fuzz/seeds" / name;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      files.push_back(read_file(entry.path()));
    REQUIRE(files.size() > 1);
    std::ranges::sort(files);  // a folder has no order of its own
    for (const Target& target : kTargets)
      if (target.name == name)
        run(target.run, count, seed, [&](Random& random) {
          std::string bytes = files[random() % files.size()];
          for (unsigned changes = 1 + random() % 4; changes > 0; --changes) change(bytes, random);
          return bytes;
        });
  }
}

}  // namespace

TEST_CASE("random command lines are done, or refused in words", "[fuzz]") { run_command_lines(2000, 7); }

TEST_CASE("files with a few random bytes are refused or read", "[fuzz]") { run_changed_files(5000, 8); }

// On demand: minutes, and a quarter of an hour under sanitizers.
TEST_CASE("100000 random command lines and 100000 changed files of each kind", "[.][fuzz][slow]") {
  run_command_lines(100'000, 11);
  run_changed_files(100'000, 12);
}
