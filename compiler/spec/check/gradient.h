// Through which parts of an expression a gradient flows, and what is marked `grad` that none reaches.
#pragma once

#include <string>
#include <vector>

#include "compiler/spec/parse/ast.h"
#include "compiler/spec/source.h"
#include "compiler/spec/spec.h"

namespace fa {

/// The arguments of `expr` that it has a derivative by: numbers of f32. Conditions, indices, and what is
/// rounded to a whole number (floor, i32(x), ...) have none: they jump, and are constant between the jumps.
std::vector<ExprPtr> differentiable_args(const Expr& expr);

/// Whether the spec marks anything `grad`.
bool has_grad(const CheckedSpec& spec);

/// Reports what is marked `grad` and is reached neither by score_mod nor by the sink. `ast` says where the
/// words stand.
void refuse_unreached(const CheckedSpec& spec, const Ast& ast, Findings& findings);

}  // namespace fa
