// Each option becomes a line of zsh's _arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/help/completion.h"

namespace fa::tools {

namespace {

/// In single quotes, with what _arguments and _describe would read as theirs escaped.
std::string single_quoted(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      result += std::string("\\") + c;
    else
      result += c;
  }
  return result;
}

/// ":FILE:_files", or "::FILE:_files" for a value that may be left out.
std::string value(const OptionRow& option) {
  std::string action = " ";
  const std::string files = option.files();
  if (!option.words.empty() && option.delimiter != 0)
    action = fmt::format("_values -s {} value {}", option.delimiter, fmt::join(option.words, " "));
  else if (!option.words.empty())
    action = fmt::format("({})", fmt::join(option.words, " "));
  else if (files == "/")
    action = "_files -/";
  else if (!files.empty())
    action = files == "*" ? "_files" : fmt::format("_files -g \"{}(-.)\"", files);
  const bool is_positional = !option.names.front().starts_with('-');
  const bool is_optional = is_positional ? !option.is_required : option.is_value_optional;
  return fmt::format("{}:{}:{}", is_optional ? ":" : "", single_quoted(option.value), action);
}

std::string option_lines(const std::vector<OptionRow>& options, std::string_view indent) {
  std::string text;
  for (const OptionRow& option : options) {
    const std::string but = option.repeats ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    for (const std::string& name : option.names) {
      const bool is_long = name.starts_with("--");
      const std::string_view mark = !option.takes_value() ? "" : is_long ? "=" : "+";
      text += fmt::format("{}'{}{}{}[{}]{}' \\\n", indent, but, name, mark, single_quoted(option.description),
                          option.takes_value() ? value(option) : "");
    }
  }
  return text;
}

std::string positional_lines(const std::vector<OptionRow>& options, std::string_view indent) {
  std::string text;
  for (const OptionRow& option : options)
    text += fmt::format("{}'{}{}' \\\n", indent, option.repeats ? "*" : "", value(option));
  return text;
}

}  // namespace

std::string zsh_completion(const CommandTable& table) {
  std::string text =
      "#compdef facet\n# zsh completion for facet, as `facet completion zsh` prints it.\n_facet() {\n";
  text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n  local -a commands=(\n";
  for (const CommandRow& command : table.commands)
    text += fmt::format("    '{}:{}'\n", command.name, single_quoted(command.description));
  text += "  )\n  _arguments -C \\\n" + option_lines(table.options, "    ");
  text += "    '1: :->command' '*:: :->arguments'\n  case $state in\n";
  text += "    command) _describe command commands ;;\n    arguments)\n      case $words[1] in\n";
  for (const CommandRow& command : table.commands) {
    text += fmt::format("        {})\n          _arguments -S \\\n", command.name);
    text +=
        option_lines(command.options, "            ") + positional_lines(command.positionals, "            ");
    text += "            && return 0 ;;\n";
  }
  return text +
         "      esac ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _facet ]]; then _facet \"$@\"; else compdef _facet facet; fi\n";
}

}  // namespace fa::tools
