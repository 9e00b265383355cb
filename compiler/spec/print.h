// Trees to text: the canonical spec, and the dumps that `facet emit --stage ast` shows.
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

/// The canonical text: items in canonical order, one a line; parses back to the same tree.
std::string print_spec(const Ast& ast);

/// The syntax tree, one node a line with its place.
std::string print_ast(const Ast& ast);

/// What the checker made of it: typed trees, casts shown, shared nodes written once and then referred to by
/// number.
std::string print_ast(const CheckedSpec& spec);

}  // namespace fa
