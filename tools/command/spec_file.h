// A spec by the name that a user gives: a file's path, or - for standard input.
#pragma once

#include <string>

#include "fa/spec.h"

namespace fa::tools {

/// How messages and reports call what `path` names: "<stdin>" for -, else the path itself.
std::string spec_file_name(const std::string& path);

/// Loads the file `path`, or with - what standard input holds: it is read once, and whoever asks again gets
/// the same text. Hooks' files are then relative to the working directory. Throws SpecError.
Spec read_spec(const std::string& path);

}  // namespace fa::tools
