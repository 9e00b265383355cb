// A door to LLVM (compiler/ir/llvm.h): orders and trees of blocks.
#pragma once

#include "compiler/ir/llvm.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#pragma GCC diagnostic pop
