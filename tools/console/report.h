// Diagnostics, errors and warnings on stderr, in colour only on a terminal.
#pragma once

#include <string_view>

#include "fa/error.h"

namespace fa::tools {

void report_diagnostic(const Diagnostic& diagnostic);
/// "facet: error: message", then "help: remedy" where there is one (several lines stand as they are).
void report_error(std::string_view message, std::string_view remedy = {});
void report_warning(std::string_view message);

}  // namespace fa::tools
