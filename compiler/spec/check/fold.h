// Constant folding: an operation on literals becomes the literal that the kernel would compute.
#pragma once

#include "compiler/spec/expr.h"

namespace fa {

ExprPtr make_int(std::int32_t value);
ExprPtr make_float(double value);  // rounded to f32
ExprPtr make_bool(bool value);
bool is_literal(const Expr& expr);

/// `expr` itself, or the simpler expression it equals for certain: operations on literals, and conditions and
/// `where` decided by a literal. i32 wraps around and division by zero gives 0, as at run time; every f32
/// step rounds to f32.
ExprPtr fold(Expr expr);

}  // namespace fa
