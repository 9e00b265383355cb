#include "tools/console/version.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <fstream>

namespace fa::tools {

namespace {

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string facet_version() { return FA_VERSION; }

std::string timestamp() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(in, word, '\0');) {
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  return text;
}

std::string version_text() {
  const std::string commit = source_commit();
  if (commit.empty())
    return fmt::format("facet {} (built outside a git checkout: no commit)", facet_version());
  constexpr std::size_t kShort = 12, kHash = 40;
  const std::string modified = commit.size() > kHash ? commit.substr(kHash) : "";
  return fmt::format("facet {} (commit {}{})", facet_version(), commit.substr(0, kShort), modified);
}

}  // namespace fa::tools
