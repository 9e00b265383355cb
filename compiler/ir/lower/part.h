// Lowers an expression that is no hook of the spec but made of one's parts, such as a derivative.
#pragma once

#include <span>
#include <string>

#include "compiler/ir/hook_ir.h"
#include "compiler/ir/range/bounds.h"

namespace fa {

/// @NAME with the arguments of all hooks, then an i32 for each of `loops`: the ids of reductions whose
/// iterations the caller runs, outermost first. An index stays below its reduction's range. The function
/// returns what `expr` is: float, i32 or i1. `bounds` are those of `spec`, whose hooks `expr` has its parts
/// from.
llvm::Function* lower_part(const CheckedSpec& spec, HookIr& hooks, Bounds& bounds, const std::string& name,
                           const Expr& expr, std::span<const int> loops = {});

}  // namespace fa
