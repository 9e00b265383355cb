// What the facet command does where it gets no more memory.
#pragma once

#include <string>
#include <vector>

namespace fa::tools {

/// From this call on, a failed allocation ends the process with a message and status 1. LLVM is built without
/// exceptions: one that passes through it leaves LLVM's data half changed, and the process crashes later.
void end_when_out_of_memory();

/// Names the options of the running command that, with smaller values, need less memory. There may be none.
void suggest_smaller(const std::vector<std::string>& options);
/// The remedy as a sentence.
const char* memory_remedy();

}  // namespace fa::tools
