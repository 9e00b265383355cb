// What the command says on stderr: rendered diagnostics, errors, warnings; colour only where a terminal reads
// it.
#pragma once

#include <string_view>

#include "fa/error.h"

namespace fa::tools {

void report_diagnostic(const Diagnostic& diagnostic);
/// "facet: error: message", then "help: remedy" where there is one (several lines stand as they are).
void report_error(std::string_view message, std::string_view remedy = {});
void report_warning(std::string_view message);

}  // namespace fa::tools
