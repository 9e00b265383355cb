// Finds out whether a call writes memory that it also reads, or that it writes twice. Runs in every forward:
// allocates nothing unless it throws.
#pragma once

#include <cstdint>
#include <span>

#include "fa/backward.h"
#include "fa/kernel.h"

namespace fa {

/// Throws ArgumentError that names both where o, lse or the workspace shares memory with another of them, or
/// with anything that the call reads. Everything else about the arguments has been checked already. Views
/// whose elements alternate without being shared, such as q, k, v and o in one [batch, length, 4, heads,
/// dim], do not overlap.
void check_apart(const ForwardArgs& args);
/// The same of a backward call's outputs. `gradient_elements`: of each of its captured gradients.
void check_apart(const BackwardArgs& args, std::span<const std::int64_t> gradient_elements);

}  // namespace fa
