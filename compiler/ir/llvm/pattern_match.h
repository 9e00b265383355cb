// A door to LLVM (compiler/ir/llvm.h): patterns of instructions, and what comparisons imply.
#pragma once

#include "compiler/ir/llvm.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/Analysis/CmpInstAnalysis.h>
#include <llvm/IR/PatternMatch.h>
#pragma GCC diagnostic pop
