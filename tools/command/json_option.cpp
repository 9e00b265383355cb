// Decides where JSON goes, and refuses to replace what a command reads.
#include "tools/command/json_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fa/error.h"
#include "runtime/system/output.h"
#include "tools/command/commands.h"
#include "tools/problem/describe.h"

namespace fa::tools {

namespace {

/// Whether the file exists and begins unlike JSON. Pipes and devices are not read.
bool holds_something_else(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream in(path);
  char first = 0;
  return in >> first && first != '{' && first != '[';
}

bool is_input(const std::string& word) {
  std::error_code error;
  return word.ends_with(".fa") || word.ends_with('/') || std::filesystem::is_directory(word, error) ||
         std::ranges::find(kCacheWords, word) != kCacheWords.end() || holds_something_else(word);
}

}  // namespace

void JsonOption::declare(CLI::App& app, std::string_view what) {
  app.add_option_function<std::vector<std::string>>(
         "--json",
         [this](const std::vector<std::string>& given) {
           asked_ = true;
           file_ = given.empty() ? std::string() : given.front();
         },
         fmt::format("Print {} as JSON on stdout; or write it to FILE, beside the text", what))
      ->expected(0, 1)
      ->allow_extra_args(false)  // or --json=FILE would take the word after it, too
      ->type_name("[FILE]");
}

void JsonOption::check_apart_from(const std::vector<std::string>& others, std::string_view whose) const {
  if (!to_file()) return;
  for (const std::string& other : others) {
    if (!other.empty() && is_same_output(file_, other))
      throw ArgumentError(fmt::format(
          "--json and {} both name {}: the report would replace it; name another file", whose, file_));
  }
}

void JsonOption::prepare() const {
  if (to_file()) check_output(file_);
}

void JsonOption::write(const nlohmann::json& report) const {
  if (!asked_) return;
  if (to_file())
    write_output(file_, json_text(report));
  else
    fmt::print("{}", json_text(report));
}

bool names_empty_json(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i)
    if (words[i] == "--json=" || (words[i] == "--json" && i + 1 < words.size() && words[i + 1].empty()))
      return true;
  return false;
}

void separate_json_word(std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i)
    if (words[i] == "--json" && is_input(words[i + 1])) words[i] = "--json=-";
}

}  // namespace fa::tools
