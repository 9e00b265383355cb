// Loads a spec by the name that a user gives: a file's path, or - for standard input.
#pragma once

#include <string>
#include <string_view>

#include "fa/spec.h"

namespace fa::tools {

/// The name of `path` in messages and reports: "<stdin>" for -, else the path itself.
std::string spec_file_name(const std::string& path);

/// Loads the file `path`, or standard input for -, which is read once: later calls return the same text.
/// Hooks' files are then relative to the working directory. Throws SpecError.
Spec read_spec(const std::string& path);

/// Throws ArgumentError where writing `output`, which `option` names, would replace the spec's file or one of its
/// hooks'.
void check_apart_from_spec(const std::string& output, std::string_view option, const Spec& spec);

}  // namespace fa::tools
