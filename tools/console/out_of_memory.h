// Where a process of the facet command gets no more memory.
#pragma once

#include <string>
#include <vector>

namespace fa::tools {

/// From here on whoever gets no memory ends the process with a message and status 1. LLVM is built without
/// exceptions: one that passes through it leaves what it was working on half done, and the process to crash
/// later.
void end_when_out_of_memory();

/// Names the options of the command in hand that take less memory the smaller they are; there may be none.
void suggest_smaller(const std::vector<std::string>& options);
/// What to do about it, in words.
const char* memory_remedy();

}  // namespace fa::tools
