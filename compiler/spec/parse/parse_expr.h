// Expressions: precedence climbing over the tokens of one logical line.
#pragma once

#include "compiler/spec/parse/ast.h"
#include "compiler/spec/parse/cursor.h"

namespace fa {

/// Parses one expression and stops at the first token that cannot continue it. Throws LineSpoiled.
AstPtr parse_expr(Cursor& cursor);

}  // namespace fa
