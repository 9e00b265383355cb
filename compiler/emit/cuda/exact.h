// The functions that decide something (compiler/ir/math/exact_math.h) as CUDA text.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "fa/spec.h"

namespace fa {

/// `__device__ float exact_log(float x) { ... }` for each such function that the functions of the modules
/// call, a mask's class among them; empty where none does. Modules may be null.
std::string print_exact_functions(const std::vector<IrModule>& modules, DType dtype);

}  // namespace fa
