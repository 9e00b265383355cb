// Reads the command line, runs one subcommand, and turns what was thrown into a message and an exit status.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/spec/words.h"
#include "fa/bundle.h"
#include "tools/command/commands.h"
#include "tools/command/failure.h"
#include "tools/command/json_option.h"
#include "tools/console/interrupt.h"
#include "tools/console/out_of_memory.h"
#include "tools/console/report.h"
#include "tools/console/version.h"

namespace fa::tools {

namespace {

constexpr const char* kAbout =
    "facet compiles attention variants, written as short specs, to fused kernels for this GPU or CPU.";

constexpr const char* kCliFooter = R"(
Start here:
  facet run specs/sliding_window_alibi.fa --verify    compute it, and check it against fp64
  facet explain specs/causal.fa --gpu h100            what the compiler knows and decides, and why
  facet bench specs/*.fa --q-len 1024,4096            how fast each variant is here
  facet build specs/*.fa --arch sm_80,sm_90 -o out/   kernels for GPUs that are elsewhere

A spec's name may be -: the spec is then read from standard input, and its hooks' files from the working directory.
Exit status: 0 where everything asked for held, 2 for bad input (a spec, an option, a file), 1 for other failures,
130 where Ctrl-C ended it: what was done until then has been written.
--json [FILE] prints a command's results as JSON instead of text, or writes them to FILE beside the text.
FA_* environment variables: docs/environment.md. The language: docs/spec_language.md.
Where Facet is installed, docs/ is share/doc/facet/docs and specs/ is share/facet/specs, beside bin/.)";

/// The option of `command` that the one in `problem`, which it does not know, may be meant for; or nothing.
std::string meant_option(const CLI::App& command, const std::string& problem) {
  const std::size_t at = problem.find("--");
  if (problem.find("not expected") == std::string::npos || at == std::string::npos) return {};
  const std::string word = problem.substr(at, problem.find_first_of(" =", at) - at);
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options([](const CLI::Option*) { return true; }))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return closest(word, std::vector<std::string_view>(names.begin(), names.end()));
}

/// The message with its words in the order in which they were given: CLI11 lists them from the last to the first.
std::string in_order(const std::string& problem) {
  const std::size_t colon = problem.find("not expected: ");
  if (colon == std::string::npos) return problem;
  const std::size_t begin = colon + std::string_view("not expected: ").size();
  std::vector<std::string> words = CLI::detail::split(problem.substr(begin), ' ');
  std::ranges::reverse(words);
  return problem.substr(0, begin) + CLI::detail::join(words, " ");
}

/// Says what is wrong with a command line that begins with `word`, and where to look.
void report_command_line(const CLI::App& app, const std::string& word, const std::string& problem) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(word)) {
      const std::string meant = meant_option(*command, problem);
      report_error(problem,
                   meant.empty()
                       ? fmt::format("`facet {} --help` lists what it takes", word)
                       : fmt::format("did you mean {}? `facet {} --help` lists what it takes", meant, word));
      return;
    }
    names.push_back(command->get_name());
  }
  if (word.starts_with('-')) {
    report_error(problem, "`facet --help` lists the commands");
    return;
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string meant = closest(word, known);
  report_error(
      fmt::format("there is no command '{}'", word),
      meant.empty() ? "`facet --help` lists the commands" : fmt::format("did you mean `facet {}`?", meant));
}

/// The first option that was given an empty value, of a command that was read; or null. An empty name is mostly that
/// of a script's variable that was never set, and means nothing.
const CLI::Option* first_empty(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options([](const CLI::Option*) { return true; })) {
      if (option->get_name() == "--json" || option->count() == 0) continue;  // whose value may be left out
      for (const std::string& value : option->results())
        if (value.empty()) return option;
    }
  return nullptr;
}

/// The options of the command that is asked for.
std::vector<std::string> size_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands())
    for (const char* name : {"--batch", "--heads", "--q-len", "--kv-len"})
      if (command->get_option_no_throw(name) != nullptr) names.emplace_back(name);
  return names;
}

}  // namespace

int read_command_line(int argc, const char* const* argv, Action& action) {
  // `facet help COMMAND` is `facet COMMAND --help`.
  std::vector<std::string> words(argv, argv + argc);
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const bool asks_help =
      argc > 1 && words[1] == "help" && std::none_of(words.begin() + 2, words.end(), is_option);
  if (asks_help) {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  if (names_empty_json(words)) {
    report_error("--json is empty: give it a file's name, or leave that out");
    return kBadInput;
  }
  separate_json_word(words);
  CLI::App app(kAbout, "facet");
  app.footer(kCliFooter);
  app.set_version_flag("-v,--version", version_text());
  app.require_subcommand(1);
  add_check_command(app, action);
  add_explain_command(app, action);
  add_emit_command(app, action);
  add_run_command(app, action);
  add_bench_command(app, action);
  add_tune_command(app, action);
  add_build_command(app, action);
  add_bundle_command(app, action);
  add_cache_command(app, action);
  add_completion_command(app, action);
  add_help_command(app, action);  // the last: it names the others

  const auto is_asked = [&](const CLI::App* command) { return command->check_name(words[1]); };
  if (asks_help && argc > 2 && app.get_subcommands(is_asked).empty()) {
    report_command_line(app, words[1], "");
    return kBadInput;
  }
  try {
    std::vector<std::string> given(words.rbegin(), words.rend() - 1);  // CLI11 takes them from the end
    app.parse(std::move(given));
  } catch (const CLI::ParseError& error) {
    action = nullptr;                  // a subcommand may have been read before
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      const int status = app.exit(error, text, text);
      fmt::print("{}", text.str());
      return status;
    }
    if (argc <= 1) {
      std::fputs(app.help().c_str(), stderr);
      return kBadInput;
    }
    report_command_line(app, words[1], in_order(error.what()));
    return kBadInput;
  }
  if (const CLI::Option* option = first_empty(app); option != nullptr) {
    action = nullptr;
    report_error(fmt::format("{} is empty: give it a value, or leave it out", option->get_name()));
    return kBadInput;
  }
  suggest_smaller(size_options(app));
  return kOk;
}

int run_action(const Action& action) {
  try {
    return action();
  } catch (...) {
    return report_current_exception();
  }
}

int run_facet(int argc, const char* const* argv) {
  Action action;
  const int status = read_command_line(argc, argv, action);
  return status == kOk && action ? run_action(action) : status;
}

}  // namespace fa::tools
