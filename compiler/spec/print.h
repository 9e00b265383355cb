// Prints trees: as the canonical spec, and as the dumps of `facet emit --stage ast`.
#pragma once

#include <string>

#include "compiler/spec/parse/ast.h"
#include "compiler/spec/spec.h"

namespace fa {

/// With brackets where they are needed, and around bit operators; parses back to the same tree.
std::string print_expr(const AstExpr& expr);

/// "(x, y)", as it stands after a function's name.
std::string parameter_list(const AstItem& function);

/// One item, without a line end.
std::string print_item(const AstItem& item);

/// The canonical text: items in canonical order, one per line; parses back to the same tree.
std::string print_spec(const Ast& ast);

/// The syntax tree, one node per line with its place.
std::string print_ast(const Ast& ast);

/// The typed trees that the checker made of it: casts are shown, a shared node is printed once and then
/// referred to by number.
std::string print_ast(const CheckedSpec& spec);

}  // namespace fa
