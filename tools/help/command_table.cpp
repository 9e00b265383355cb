// Reads the table from the app. The name of a value in --help tells what kind of value it is.
#include "tools/help/command_table.h"

#include <CLI/CLI.hpp>

#include "tools/command/validators.h"

namespace fa::tools {

namespace {

/// The words of the validators that list words (tools/command/validators.h).
std::vector<std::string> words_of(CLI::Option& option) {
  try {
    for (int i = 0;; ++i)
      if (auto words = named_words(*option.get_validator(i)); !words.empty()) return words;
  } catch (const CLI::OptionNotFound&) {
    return {};  // there are no more validators
  }
}

OptionRow option_row(CLI::Option& option) {
  OptionRow row{.names = {},
                .value = option.get_items_expected_max() == 0 ? std::string() : option.get_type_name(),
                .description = option.get_description(),
                .group = option.get_group(),
                .words = words_of(option),
                .delimiter = option.get_delimiter(),
                .is_value_optional = option.get_items_expected_min() == 0,
                .is_required = option.get_required(),
                .repeats = option.get_items_expected_max() > 1};
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (option.get_positional()) row.names.push_back(option.get_name(true));
  return row;
}

}  // namespace

std::string OptionRow::files() const {
  if (!words.empty()) return {};
  if (names.front() == "SPEC") return "*.fa";
  if (value == "FOLDER") return "/";
  if (value == "FILE" || value == "[FILE]" || value == "PATH") return "*";
  return value.starts_with("FILE.") ? "*" + value.substr(4) : std::string();
}

CommandTable command_table(const CLI::App& app) {
  CommandTable table{
      .description = app.get_description(), .footer = app.get_footer(), .options = {}, .commands = {}};
  // CLI11 has no const access to options by pointer; nothing is changed.
  auto& changeable = const_cast<CLI::App&>(app);
  for (CLI::Option* option : changeable.get_options()) table.options.push_back(option_row(*option));
  for (CLI::App* command : changeable.get_subcommands([](CLI::App*) { return true; })) {
    CommandRow row{.name = command->get_name(),
                   .description = command->get_description(),
                   .footer = command->get_footer(),
                   .options = {},
                   .positionals = {}};
    for (CLI::Option* option : command->get_options())
      (option->nonpositional() ? row.options : row.positionals).push_back(option_row(*option));
    table.commands.push_back(std::move(row));
  }
  return table;
}

}  // namespace fa::tools
