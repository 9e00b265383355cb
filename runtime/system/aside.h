// Names of files that are written aside and then renamed, and what processes leave of them when they are
// killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace fa {

/// Such files' names begin with it.
constexpr std::string_view kAside = ".aside-";

/// A name that no other process of any machine uses: of this machine, the process `pid` and this moment.
std::string aside_name(pid_t pid);

/// Whether a file of that name was written by a process of this machine that is no longer there. Of other
/// machines' processes, which may write to the same folder, nothing is known.
bool is_abandoned(std::string_view name);

/// Removes the abandoned files of a folder, as far as this user may.
void remove_abandoned(const std::string& folder);

}  // namespace fa
