// Names of files that are written aside and then renamed; and the removal of those that killed processes have
// left.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace fa {

/// The names of such files begin with it.
constexpr std::string_view kAside = ".aside-";

/// A name that no other process of any machine uses. It is made of this machine, the process `pid` and the
/// time.
std::string aside_name(pid_t pid);

/// Whether the file of that name was written by a process of this machine that has ended. Returns false for
/// files of other machines, which may write to the same folder: nothing is known about their processes.
bool is_abandoned(std::string_view name);

/// Removes the abandoned files of a folder, as far as this user may.
void remove_abandoned(const std::string& folder);

}  // namespace fa
