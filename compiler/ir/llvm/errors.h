// A door to LLVM (compiler/ir/llvm.h): what LLVM calls when it cannot go on.
#pragma once

#include "compiler/ir/llvm.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/Support/ErrorHandling.h>
#pragma GCC diagnostic pop
