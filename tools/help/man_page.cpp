// The manual page: the --help of every command, and the table of environment variables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/system/options.h"
#include "tools/console/version.h"
#include "tools/help/completion.h"

namespace fa::tools {

namespace {

/// Text as roff reads it back: hyphens that can be copied, no escapes, no requests at the start of a line.
std::string escaped(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    begins_line = c == '\n';
    if (c == '-')
      result += "\\-";
    else if (c == '\\')
      result += "\\e";
    else if (c == '~')
      result += "\\(ti";
    else if (c == '^')
      result += "\\(ha";
    else if (c == '`')
      result += "\\(ga";
    else if (c == '\'')
      result += "\\(aq";
    else
      result += c;
  }
  return result;
}

/// The end of a --help: lines that are set in by two spaces stand as they are, others are filled; one that
/// ends with a colon before such lines is their heading.
std::string paragraphs(std::string_view text) {
  std::string result;
  bool is_example = false, is_open = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool is_indented = line.starts_with("  ");
    if (is_example && !is_indented) result += ".EE\n";
    if (!is_example && is_indented) result += ".PP\n.EX\n";
    if (!is_indented && (!is_open || is_example)) result += line.empty() ? "" : ".PP\n";
    is_open = !line.empty() && !is_indented;
    is_example = is_indented;
    if (!line.empty()) result += escaped(line) + "\n";
  }
  return result + (is_example ? ".EE\n" : "");
}

std::string option_entry(const OptionRow& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", escaped(name));
  const bool is_option = option.names.front().starts_with('-');
  if (option.takes_value() && is_option) names += fmt::format(" \\fI{}\\fR", escaped(option.value));
  return fmt::format(".TP\n{}\n{}\n", names, escaped(option.description));
}

/// "facet run [OPTION]... SPEC": what is written after the command's name.
std::string synopsis(const CommandRow& command) {
  std::string text = fmt::format("\\fBfacet {}\\fR", command.name);
  if (!command.options.empty()) text += " [\\fIOPTION\\fR]...";
  for (const OptionRow& option : command.positionals)
    text += fmt::format(" {}\\fI{}\\fR{}{}", option.is_required ? "" : "[", escaped(option.names.front()),
                        option.is_required ? "" : "]", option.repeats ? "..." : "");
  return text;
}

}  // namespace

std::string man_page(const CommandTable& table) {
  std::string text = fmt::format(".TH FACET 1 \"\" \"facet {}\" \"User Commands\"\n", facet_version());
  text += ".SH NAME\nfacet \\- compile, run and measure variants of attention\n.SH SYNOPSIS\n";
  for (const CommandRow& command : table.commands) text += synopsis(command) + "\n.br\n";
  text += ".SH DESCRIPTION\n" + escaped(table.description) + "\n" + paragraphs(table.footer);
  text += ".SH OPTIONS\n";
  for (const OptionRow& option : table.options) text += option_entry(option);
  text += ".SH COMMANDS\n";
  for (const CommandRow& command : table.commands) {
    text += fmt::format(".SS facet {}\n{}.\n", command.name, escaped(command.description));
    for (const OptionRow& option : command.positionals) text += option_entry(option);
    for (const OptionRow& option : command.options) text += option_entry(option);
    text += paragraphs(command.footer);
  }
  text += ".SH ENVIRONMENT\nWhat is said on the command line comes first. Unset and empty are the same.\n";
  for (const EnvironmentVariable& variable : environment_variables())
    text += fmt::format(".TP\n\\fB{}\\fR\n{}. Takes {}; default: {}.\n", escaped(variable.name),
                        escaped(variable.meaning), escaped(variable.value), escaped(variable.initial));
  return text;
}

}  // namespace fa::tools
