// A door to LLVM (compiler/ir/llvm.h): copies of functions and of parts of them.
#pragma once

#include "compiler/ir/llvm.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/Transforms/Utils/Cloning.h>
#pragma GCC diagnostic pop
