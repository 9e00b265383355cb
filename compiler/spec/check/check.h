// The syntax tree to the checked spec. Here, in check_expr and in check_call stand all words about a spec's
// meaning.
#pragma once

#include <memory>

#include "compiler/spec/parse/ast.h"
#include "compiler/spec/spec.h"

namespace fa {

/// Checks the whole spec and reports all it finds; null where anything is an error. Items the parser marked
/// broken are taken as declared, so that their uses are not reported again.
std::shared_ptr<const CheckedSpec> check(const std::shared_ptr<const Ast>& ast, Findings& findings);

}  // namespace fa
