// Completions, run in a real bash, and the manual page, formatted by groff where there is one.
#include "tools/help/completion.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;

namespace {

const std::vector<std::string> kCommands = {"check", "explain", "emit",  "run",        "bench", "tune",
                                            "build", "bundle",  "cache", "completion", "help"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Every --option of a command's --help, each by all of its names.
std::vector<std::string> options_of(const std::string& command) {
  const std::string help = facet(command.empty() ? std::vector<std::string>{"--help"}
                                                 : std::vector<std::string>{command, "--help"})
                               .out;
  std::vector<std::string> options;
  for (const std::string& line : lines_of(help)) {
    static const std::regex kRow("^  ((?:-\\w,)?--[a-z0-9-]+(?:,--[a-z0-9-]+)*)( .*)?$");
    std::smatch match;
    if (!std::regex_match(line, match, kRow)) continue;
    std::istringstream names(match[1]);
    for (std::string name; std::getline(names, name, ',');) options.push_back(name);
  }
  return options;
}

/// What bash offers for the last of the words, which are split as bash does; `folder` is the working
/// directory.
std::vector<std::string> completed(const std::vector<std::string>& words, const std::string& folder = "/") {
  std::string array;
  for (const std::string& word : words) array += " '" + word + "'";
  const auto result = shell(
      "cd '" + folder + "' && source <(\"$FACET\" completion bash) && COMP_WORDS=(facet" + array +
      ") && COMP_CWORD=" + std::to_string(words.size()) + " && _facet && printf '%s\\n' \"${COMPREPLY[@]}\"");
  CHECK(result.err == "");
  std::vector<std::string> offers = lines_of(result.out);
  std::erase(offers, "");
  std::ranges::sort(offers);
  return offers;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("bash completes commands, every option, and values", "[tools]") {
  Words commands = kCommands;
  std::ranges::sort(commands);
  CHECK(completed({""}) == commands);
  CHECK(completed({"b"}) == Words{"bench", "build", "bundle"});
  CHECK(completed({"--v"}) == Words{"--version"});
  for (const std::string& command : kCommands) {
    INFO(command);
    const Words offered = completed({command, "-"});
    const Words options = options_of(command);
    CHECK(options.size() >= 2);
    for (const std::string& option : options) CHECK(std::ranges::count(offered, option) == 1);
    CHECK(offered.size() == options.size());
  }
  CHECK(completed({"run", "x.fa", "--dtype", ""}) == Words{"bf16", "f16", "f32"});
  CHECK(completed({"run", "x.fa", "--dtype", "b"}) == Words{"bf16"});
  CHECK(completed({"run", "x.fa", "--dtype", "=", "b"}) == Words{"bf16"});  // --dtype=b
  CHECK(completed({"run", "x.fa", "--dtype", "="}) == Words{"bf16", "f16", "f32"});
  CHECK(completed({"build", "x.fa", "--dtype", "f16,"}) == Words{"f16,bf16", "f16,f16", "f16,f32"});
  CHECK(completed({"run", "x.fa", "--batch", ""}).empty());
  CHECK(completed({"explain", "x.fa", "--gpu", "h1"}) == Words{"h100"});
  CHECK(completed({"cache", ""}) == Words{"clear", "list", "path", "stats"});
  CHECK(completed({"completion", ""}) == Words{"bash", "zsh"});
  CHECK(completed({"help", "ru"}) == Words{"run"});
}

TEST_CASE("bash completes the files that are taken where the word stands", "[tools]") {
  const TemporaryFolder folder;
  for (const char* name : {"a.fa", "b c.fa", "q.npy", "notes"}) folder.write(name, "");
  std::filesystem::create_directory(folder.file("specs"));
  const auto in_folder = [&](const Words& words) { return completed(words, folder.file("")); };
  CHECK(in_folder({"run", ""}) == Words{"a.fa", "b c.fa", "specs"});
  CHECK(in_folder({"check", "a.fa", "b"}) == Words{"b c.fa"});
  CHECK(in_folder({"run", "a.fa", "--q", ""}) == Words{"q.npy", "specs"});
  CHECK(in_folder({"bundle", "x", "--extract", ""}) == Words{"specs"});
  CHECK(in_folder({"run", "a.fa", "--json", "n"}) == Words{"notes"});
  CHECK(missing(shell("source <(\"$FACET\" completion bash) && complete -p facet").out,
                {"-F _facet facet"}) == "");
}

TEST_CASE("zsh's completion has every command and option", "[tools]") {
  const std::string script = facet({"completion", "zsh"}).out;
  CHECK(first_line(script) == "#compdef facet");
  for (const std::string& command : kCommands) {
    const std::size_t begin = script.find("        " + command + ")\n");
    REQUIRE(begin != std::string::npos);
    const std::string of_command = script.substr(begin, script.find(";;", begin) - begin);
    for (const std::string& option : options_of(command)) {
      INFO(command << " " << option);
      CHECK(std::regex_search(of_command, std::regex("\\)" + option + "[=+]?\\[|\\*" + option + "[=+]?\\[")));
    }
  }
  if (shell("command -v zsh").status != 0) {
    fa::tests::skip("completion read by zsh: there is none");
    return;
  }
  const auto read = shell("zsh -n <(\"$FACET\" completion zsh)");
  CHECK(read.status == 0);
  CHECK(read.err == "");
}

TEST_CASE("the manual page has every command, option and variable", "[tools]") {
  const std::string page = facet({"help", "--man"}).out;
  CHECK(without_start(page, ".TH FACET 1 ") == "");
  for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "ENVIRONMENT"})
    CHECK(missing(page, {std::string("\n.SH ") + section + "\n"}) == "");
  std::string plain = page;
  std::erase(plain, '\\');
  for (const std::string& command : kCommands) {
    const std::size_t begin = plain.find("\n.SS facet " + command + "\n");
    REQUIRE(begin != std::string::npos);
    const std::size_t end = std::min(plain.find("\n.SS ", begin + 1), plain.find("\n.SH ", begin + 1));
    for (const std::string& option : options_of(command)) {
      INFO(command << " " << option);
      CHECK(plain.substr(begin, end - begin).find("fB" + option + "fR") != std::string::npos);
    }
  }
  CHECK(missing(plain, {"fBFA_NVRTCfR", "fBFA_CACHE_DIRfR"}) == "");
  // Every line that begins with a dot is a request that is known.
  for (const std::string& line : lines_of(page))
    if (line.starts_with('.') || line.starts_with('\''))
      CHECK(std::regex_match(line, std::regex("\\.(TH|SH|SS|PP|TP|EX|EE|br)( .*)?")));
}

TEST_CASE("groff reads the manual page without a warning", "[tools]") {
  if (shell("command -v groff").status != 0) {
    fa::tests::skip("there is no groff");
    return;
  }
  // groff prints bold and underlined letters as overstrikes or with escape codes.
  const auto read = shell(
      R"("$FACET" help --man | groff -man -Tutf8 -ww -rLL=120n | sed -E 's/.\x08//g; s/\x1b\[[0-9;]*m//g')");
  CHECK(read.status == 0);
  CHECK(read.err == "");
  CHECK(missing(read.out, {"facet run [OPTION]... SPEC", "--verify-rows N", "'.kernels[].arch'"}) == "");
}
