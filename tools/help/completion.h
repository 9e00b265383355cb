// What shells complete after `facet`, and its manual page: each made from the table of commands.
#pragma once

#include <string>

#include "tools/help/command_table.h"

namespace fa::tools {

/// A script for bash: a function and a `complete` for it.
std::string bash_completion(const CommandTable& table);
/// A file for a folder of zsh's fpath, or to be sourced.
std::string zsh_completion(const CommandTable& table);
/// facet(1), in the man macros of roff.
std::string man_page(const CommandTable& table);

}  // namespace fa::tools
