// Compiles LLVM IR that a test wrote to machine code for this computer.
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <string>

namespace fa::test {

/// Returns the bytes of an object file. A function's own "target-features" replace those of this CPU. Throws
/// InternalError.
std::string compile_object(llvm::Module& module);

}  // namespace fa::test
