// Turns tokens into the syntax tree. An error affects its own logical line only; parsing continues with the
// next.
#pragma once

#include <memory>

#include "compiler/spec/parse/ast.h"
#include "compiler/spec/source.h"

namespace fa {

/// Reads a whole spec. Items with an error are kept, marked broken; the findings say what is wrong.
Ast parse_spec(std::shared_ptr<const SourceText> source, Findings& findings);

/// Reads a text that must be one expression; null where it is not.
AstPtr parse_expression(const SourceText& source, Findings& findings);

}  // namespace fa
