// Thousands of specs and hook files, each made from a valid one by a few changes, with fixed seeds. Each is
// refused with findings or accepted, without a signal, another exception, or minutes of work.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/catch.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"

using namespace fa::fuzz;

namespace {

/// The texts of the folder's files with one ending, by name, without those that are too long for a few
/// changes to matter.
std::vector<std::string> texts_in(const char* folder, const char* extension) {
  constexpr std::size_t kLongest = 8192;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FA_SOURCE_DIR) / folder))
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (texts.back().size() > kLongest || texts.back().empty()) texts.pop_back();
  }
  return texts;
}

void run(void (*target)(std::string_view), const std::vector<std::string>& texts,
         std::span<const std::string_view> words, int count, unsigned seed) {
  REQUIRE(texts.size() > 10);
  Random random(seed);
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < count; ++i) {
    const std::string text = mutated(texts[random() % texts.size()], random, words);
    INFO("number " << i << ":\n" << text);
    const Clock::time_point start = Clock::now();
    try {
      target(text);
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
    // Ten times as long as the longest one takes, for sanitizers and busy machines.
    CHECK(Clock::now() - start < std::chrono::seconds(60));
  }
}

std::vector<std::string> specs() {
  std::vector<std::string> all = texts_in("specs", ".fa");
  for (const char* folder :
       {"bench/variants", "tests/error", "tests/fuzz/seeds/spec", "tests/fuzz/seeds/compile"})
    std::ranges::copy(texts_in(folder, ".fa"), std::back_inserter(all));
  return all;
}

std::vector<std::string> hooks() {
  std::vector<std::string> all = texts_in("specs", ".ll");
  for (const char* folder : {"tests/import/good", "tests/import/bad", "tests/fuzz/seeds/import"})
    std::ranges::copy(texts_in(folder, ".ll"), std::back_inserter(all));
  return all;
}

}  // namespace

TEST_CASE("specs with a few random changes are refused or read", "[fuzz]") {
  run(fuzz_spec, specs(), spec_words(), 10'000, 1);
}

TEST_CASE("specs with a few random changes are refused or compiled", "[fuzz]") {
  run(fuzz_compile, texts_in("specs", ".fa"), spec_words(), 1500, 2);
}

TEST_CASE("hook files with a few random changes are refused or compiled", "[fuzz]") {
  run(fuzz_import, hooks(), ir_words(), 5000, 3);
}

TEST_CASE("many specs and hook files with a few random changes", "[fuzz][slow]") {
  run(fuzz_spec, specs(), spec_words(), 100'000, 4);
  run(fuzz_compile, texts_in("specs", ".fa"), spec_words(), 8'000, 5);
  run(fuzz_import, hooks(), ir_words(), 40'000, 6);
}
