// GPU kernels without a GPU: a kernel's source, the very text that NVRTC gets, is compiled by g++ and run on the
// host, with threads that switch where a GPU's may (block.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "compiler/emit/cuda/source.h"
#include "compiler/schedule/backward/backward_plan.h"
#include "fa/kernel.h"
#include "fa/spec.h"

namespace fa::test {

/// Of the orders that a GPU may choose from, two. Where a barrier is missing, or a wait for a copy, results
/// differ between them.
enum class Order : std::uint8_t { first_to_last, last_to_first };

/// A spec's kernel for a GPU of `compiler/target`, "a100" or "t4", as a kernel of the host. Throws BuildError
/// where g++ refuses the source; calls throw DeviceError where a thread does what a GPU would not do.
Kernel emulated_kernel(const Spec& spec, const std::string& target, const std::string& plan = {},
                       Order order = Order::first_to_last);
/// The same from a source at hand.
Kernel emulated_kernel(const Spec& spec, const Source& source, Order order = Order::first_to_last);

/// With a backward pass, both passes in one order. `change` may make another plan of the backward pass's.
Kernel emulated_kernel_with_backward(const Spec& spec, const std::string& target,
                                     Order order = Order::first_to_last,
                                     const std::function<void(BackwardPlan&)>& change = {});
/// One in each order, compiled once.
std::array<Kernel, 2> emulated_kernels_with_backward(const Spec& spec, const std::string& target,
                                                     const std::function<void(BackwardPlan&)>& change = {},
                                                     bool deterministic = false);

/// Whether the compiler that the tests were built with is not here; notes that.
bool skip_without_compiler();

}  // namespace fa::test
