// Compiles LLVM IR that a test wrote to machine code for this computer.
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <string>

namespace fa::test {

/// The bytes of an object file. A function's own "target-features" go before those of this CPU. Throws
/// InternalError.
std::string compile_object(llvm::Module& module);

}  // namespace fa::test
