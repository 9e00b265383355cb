// Options::checked: finds out before each forward whether a hook reads outside a tensor in a way that affects
// the result.
#pragma once

#include <functional>

#include "fa/kernel.h"

namespace fa {

using Check = std::function<void(const ForwardArgs&, Stream)>;

/// Returns what a checked kernel runs before each launch; null where every index of the spec is proved to be
/// in range. It compiles and runs probes (compiler/ir/range/outside.h) on the kernel's own device, with
/// memory of its own, and waits for them. The check throws ArgumentError that names the tensor, the index and
/// the first element that reads it.
Check make_check(const Spec& spec, const Options& options, Device device);

}  // namespace fa
