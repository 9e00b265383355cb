// How many copies of a problem's tensors timed launches take turns on.
#pragma once

#include "compiler/target/target.h"
#include "tools/problem/problem.h"

namespace fa::tools {

/// Enough to exceed the last-level cache of a GPU, as far as half of its memory goes. The host keeps one
/// copy: a CPU's
/// caches are part of what it is measured with.
int copies_for(const Target& target, const Problem& problem);

}  // namespace fa::tools
