// The functions that decide something (compiler/ir/math/exact_math.h) as CUDA text.
#pragma once

#include <string>
#include <vector>

#include "fa/spec.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace fa {

/// `__device__ float exact_log(float x) { ... }` for each such function that the functions of the modules
/// call, a mask's class among them; empty where none does.
std::string print_exact_functions(const std::vector<const llvm::Module*>& modules, DType dtype);

}  // namespace fa
