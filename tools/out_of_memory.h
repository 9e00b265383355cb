// Where a process of the facet command gets no more memory.
#pragma once

namespace fa::tools {

/// From here on whoever gets no memory ends the process with a message and status 1. LLVM is built without
/// exceptions: one that passes through it leaves what it was working on half done, and the process to crash
/// later.
void end_when_out_of_memory();

}  // namespace fa::tools
