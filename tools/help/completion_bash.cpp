// The script holds the table as two `case`s and a few lines that never change.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/help/completion.h"

namespace fa::tools {

namespace {

/// Sees --option=value as bash splits it, and the last value of a list. `values` are the words that may come,
/// `files` a pattern of files.
constexpr const char* kBegin = R"(# bash completion for facet, as `facet completion bash` prints it.
_facet() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' options='' values='' files='' list='' i
  COMPREPLY=()
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = && COMP_CWORD -ge 2 ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]} && break; }
  done
)";

constexpr const char* kEnd = R"(
  local before=''
  if [[ -n $list ]]; then
    before=${current%"${current##*,}"}
    current=${current##*,}
  fi
  if [[ $current == -?* || ($current == - && -z $before) ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  [[ -z $values ]] || mapfile -t COMPREPLY < <(compgen -P "$before" -W "$values" -- "$current")
  [[ -n $files ]] || return 0
  compopt -o filenames 2>/dev/null
  local names=()
  mapfile -t names < <(compgen -d -- "$current"; [[ $files == / ]] || compgen -f -X "!$files" -- "$current" | while
    IFS= read -r i; do [[ -d $i ]] || printf '%s\n' "$i"; done)
  COMPREPLY+=("${names[@]}")
}
complete -F _facet facet
)";

std::string join_names(const std::vector<OptionRow>& options, std::string_view between) {
  std::vector<std::string> names;
  for (const OptionRow& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, between));
}

/// What may follow as a value of the option, as assignments of the script.
std::string assignments(const OptionRow& option) {
  std::string text;
  if (!option.words.empty()) text += fmt::format(" values='{}'", fmt::join(option.words, " "));
  if (const std::string files = option.files(); !files.empty()) text += fmt::format(" files='{}'", files);
  if (option.delimiter != 0) text += " list=1";
  return text;
}

std::string command_case(const CommandRow& command) {
  std::string text = fmt::format("    {})\n      options='{}'\n      case $previous in\n", command.name,
                                 join_names(command.options, " "));
  for (const OptionRow& option : command.options) {
    if (!option.takes_value()) continue;
    const std::string after = option.is_value_optional ? "" : " options=''";
    text += fmt::format("        {}){}{} ;;\n", fmt::join(option.names, "|"), assignments(option), after);
  }
  std::string positional;
  for (const OptionRow& option : command.positionals) positional += assignments(option);
  return text + fmt::format("        *){} ;;\n      esac ;;\n", positional);
}

}  // namespace

std::string bash_completion(const CommandTable& table) {
  std::vector<std::string> commands;
  for (const CommandRow& command : table.commands) commands.push_back(command.name);
  std::string text = kBegin;
  text += fmt::format("  case $command in\n    '') options='{}' values='{}' ;;\n",
                      join_names(table.options, " "), fmt::join(commands, " "));
  for (const CommandRow& command : table.commands) text += command_case(command);
  return text + "  esac" + kEnd;
}

}  // namespace fa::tools
