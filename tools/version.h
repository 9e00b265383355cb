// What was built from what: for --version and for the records that bench writes.
#pragma once

#include <string>

namespace fa::tools {

std::string facet_version();  // "0.1.0"
std::string llvm_version();   // "19.1.7", of the library this was built against
/// The commit of the checkout this was built from, as it is now; empty where there is none.
std::string source_commit();
/// Now, UTC: "2026-01-31T12:00:00Z"
std::string timestamp();
/// What --version prints.
std::string version_text();

}  // namespace fa::tools
