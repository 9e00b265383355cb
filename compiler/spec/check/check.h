// Turns the syntax tree into the checked spec. All messages about a spec's meaning are written here, in
// check_expr and in check_call.
#pragma once

#include <memory>

#include "compiler/spec/parse/ast.h"
#include "compiler/spec/spec.h"

namespace fa {

/// Checks the whole spec and reports all it finds; null where anything is an error. Names of items that the
/// parser marked as broken count as declared, so that their uses are not reported, too.
std::shared_ptr<const CheckedSpec> check(const std::shared_ptr<const Ast>& ast, Findings& findings);

}  // namespace fa
