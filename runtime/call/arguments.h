// Checks everything about a call and turns its arguments into those of the launch. Runs in every forward, so
// it allocates nothing unless it throws.
#pragma once

#include <cstdint>

#include "compiler/spec/spec.h"
#include "fa/kernel.h"
#include "templates/params.h"

namespace fa {

/// What a checked call asks for.
enum class Work : std::uint8_t {
  nothing,     // no query: nothing is written
  empty_rows,  // queries but no keys: o is zero and lse -inf
  kernel
};

/// Fills `params` for a kernel on `device` (cuda asks for 16-byte alignment and grid-sized batch and heads).
/// Throws ArgumentError naming the tensor or param that does not fit, and the remedy.
Work prepare(const CheckedSpec& spec, Device device, const ForwardArgs& args, ForwardParams& params);

}  // namespace fa
