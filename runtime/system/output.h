// Writes a result to where the user said. This is the one place that tells files, links, pipes and devices
// apart.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fa {

/// Writes `pieces`, one after another, to what `path` names. A regular file, or a name that is free: whole or
/// not at all, by replace_file; an old file's permissions stay, and its owner where this process may set it. Files
/// that killed processes have left in that folder are removed. A symbolic link stays one, and the file that it
/// names is written. A device or a pipe is written in place, and so is an open descriptor by its name
/// (/dev/stdout, /dev/fd/3). Throws Error: "path: cannot be written: why".
void write_output(const std::string& path, std::span<const std::string_view> pieces);
void write_output(const std::string& path, std::string_view bytes);

/// Throws as write_output would, where that can be told without writing: the folder is missing or may not be written, `path`
/// names a folder or a protected file. For the time before work that would be lost.
void check_output(const std::string& path);

/// Whether both are, or would become, the same regular file, so that one result would replace the other; or the
/// same named pipe, whose reader sees an end after each.
bool is_same_output(const std::string& a, const std::string& b);

}  // namespace fa
