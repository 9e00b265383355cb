// What LLVM does where it gets no memory. The library does not change that: the process ends with "LLVM
// ERROR: out of memory". A program may install a handler with its own message.
#pragma once

namespace fa {

/// Neither may return. `out_of_memory` is called where LLVM gets no memory, `failed` where it cannot go on.
void on_llvm_failure(void (*out_of_memory)(), void (*failed)(const char* reason));

}  // namespace fa
