// The commands and options as a value. It is read from the CLI11 app that parses the command line, so that
// completions and the manual page list exactly the commands and options that exist.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fa::tools {

/// An option, or a positional argument.
struct OptionRow {
  std::vector<std::string> names;  // "-o", "--output"; a positional's one name, "SPEC"
  std::string value;               // the name of its value in --help: "FILE"; empty where it takes none
  std::string description;
  std::string group;               // the heading it stands under in --help
  std::vector<std::string> words;  // the values it takes, where they are few
  char delimiter = 0;              // between the values of a list in one word
  bool is_value_optional = false;
  bool is_required = false;
  bool repeats = false;

  bool takes_value() const { return !value.empty(); }
  /// The files it takes: a pattern, "*.fa" or "*"; "/" for folders alone; empty where it takes none.
  std::string files() const;
};

struct CommandRow {
  std::string name, description, footer;
  std::vector<OptionRow> options, positionals;
};

struct CommandTable {
  std::string description, footer;
  std::vector<OptionRow> options;  // of facet itself
  std::vector<CommandRow> commands;
};

CommandTable command_table(const CLI::App& app);

}  // namespace fa::tools
