// A call's run-time numbers and captured tensors: matched with the spec's by name, checked, and put in the
// spec's order.
#pragma once

#include "compiler/spec/spec.h"
#include "fa/kernel.h"
#include "templates/params.h"

namespace fa {

/// Fills `params.params` and `params.tensors`; the sizes in `params` are set already. Throws ArgumentError.
void set_captured(const CheckedSpec& spec, const ForwardArgs& args, CallParams& params);

}  // namespace fa
