// facet help and facet completion. Their text is made while the command line is read, since the app with its
// options does not exist later.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/command/commands.h"
#include "tools/command/validators.h"
#include "tools/help/completion.h"

namespace fa::tools {

namespace {

constexpr const char* kHelpFooter = R"(
Examples:
  facet help run                       the same as: facet run --help
  facet help --man | man -l -          the manual page, with every command and option)";

constexpr const char* kCompletionFooter = R"help(
An installed Facet has both files where the shells look for them: share/bash-completion/completions/facet and
share/zsh/site-functions/_facet.

Examples:
  source <(facet completion bash)                     in ~/.bashrc
  facet completion zsh > ~/.zsh/functions/_facet      where that folder is in fpath)help";

struct HelpArguments {
  std::string command;
  bool man = false;
};

/// The action that prints the text.
Action printing(std::string text) {
  return [text = std::move(text)] {
    fmt::print("{}", text);
    return kOk;
  };
}

}  // namespace

void add_help_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<HelpArguments>();
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  CLI::App* const help = app.add_subcommand("help", "Say how a command is used");
  help->footer(kHelpFooter);
  help->add_option("COMMAND", arguments->command, "The command [facet itself]")
      ->check(one_of(names))
      ->type_name("WORD");
  help->add_flag("--man", arguments->man, "Print facet(1), the manual page, instead");
  // Without --man it is --help of the command, which reading the command line makes of it. What is parsed
  // must live until then.
  help->callback([arguments, &app, &action] { action = printing(man_page(command_table(app))); });
}

void add_completion_command(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("completion", "Print what makes a shell complete facet's words");
  command->footer(kCompletionFooter);
  command->add_option("SHELL", *shell, "bash or zsh")
      ->check(one_of({"bash", "zsh"}))
      ->type_name("WORD")
      ->required();
  command->callback([shell, &app, &action] {
    const CommandTable table = command_table(app);
    action = printing(*shell == "bash" ? bash_completion(table) : zsh_completion(table));
  });
}

}  // namespace fa::tools
