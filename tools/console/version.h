// What this program was built from, for --version and for the records that bench writes.
#pragma once

#include <string>

namespace fa::tools {

std::string facet_version();  // "0.1.0"
/// The commit that this program was built from, 40 digits and "-modified" where files had been changed since;
/// empty where the sources were no git checkout. cmake/commit.cmake writes this function.
std::string source_commit();
/// Now, UTC: "2026-01-31T12:00:00Z"
std::string timestamp();
/// This process's command line, quoted for a shell.
std::string command_line();
/// What --version prints.
std::string version_text();

}  // namespace fa::tools
