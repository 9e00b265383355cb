// The final translation unit of a GPU kernel: includes, named constants, hooks, static_asserts, one entry.
#pragma once

#include "compiler/compile.h"

namespace fa {

/// Source of the forward kernel of `plan` for `target`, whose family must be one with templates (sm80 today).
/// The text ends in static_asserts that hold the device's sums to the host's: tile sizes, shared-memory
/// bytes, sizeof(ForwardParams).
Source emit_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts, const Plan& plan,
                   const Target& target);

}  // namespace fa
