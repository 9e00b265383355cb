// Versions, the commit, the date and the command line of this process.
#include "tools/console/version.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fa::tools {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The checkout that holds this program, as a path to its .git folder; empty where it was installed
/// elsewhere.
fs::path git_folder() {
  std::error_code failed;
  for (fs::path at = fs::read_symlink("/proc/self/exe", failed).parent_path(); !at.empty();
       at = at.parent_path()) {
    if (fs::is_directory(at / ".git", failed) && fs::exists(at / "include/fa", failed)) return at / ".git";
    if (at == at.root_path()) break;
  }
  return {};
}

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

std::string source_commit() {
  const fs::path git = git_folder();
  if (git.empty()) return {};
  const std::string head = first_line(git / "HEAD");
  constexpr std::string_view kRef = "ref: ";
  if (!head.starts_with(kRef)) return head;
  const std::string name = head.substr(kRef.size());
  if (const std::string commit = first_line(git / name); !commit.empty()) return commit;
  std::ifstream packed(git / "packed-refs");
  for (std::string line; std::getline(packed, line);) {
    if (line.ends_with(" " + name)) return line.substr(0, line.find(' '));
  }
  return {};
}

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
  return commit.empty() ? fmt::format("facet {}", facet_version())
                        : fmt::format("facet {} ({})", facet_version(), commit.substr(0, 12));
}

}  // namespace fa::tools
