// Whether a call writes memory that it also reads, or writes twice. Runs in every forward: allocates nothing
// unless it throws.
#pragma once

#include "fa/kernel.h"

namespace fa {

/// Throws ArgumentError that names both where o, lse or the workspace shares memory with another of them, or
/// with anything that the call reads. The arguments are right in all else. Views that lie between each other
/// without sharing an element, such as q, k, v and o in one [batch, length, 4, heads, dim], are apart.
void check_apart(const ForwardArgs& args);

}  // namespace fa
