// Options::checked: before each forward, whether a hook reads outside a tensor where it matters.
#pragma once

#include <functional>

#include "fa/kernel.h"

namespace fa {

using Check = std::function<void(const ForwardArgs&, Stream)>;

/// What a checked kernel does before each launch; null where every index of the spec is proved. It compiles
/// and runs probes (compiler/ir/range/outside.h) on the kernel's own device, with memory of its own, and waits for
/// them. The check throws ArgumentError that names the tensor, the index and the first element that reads
/// it.
Check make_check(const Spec& spec, const Options& options, Device device);

}  // namespace fa
