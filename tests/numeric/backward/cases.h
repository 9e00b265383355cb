// Runs a kernel's backward pass on a case and compares all of its gradients with the fp64 reference.
#pragma once

#include "tests/numeric/cases.h"
#include "tools/reference/gradients/comparison.h"

namespace fa::tools {

/// uncached(Device::host), with a backward pass.
Options with_backward(int threads = 0);

/// What is wrong with a kernel's gradients on a problem, or an empty text; all rows are compared, but those
/// in doubt. `compared_rows`, where it is not null, is how many those are.
std::string backward_failure(const Kernel& kernel, const Problem& problem, Layout layout = Layout::bhsd,
                             std::int64_t* compared_rows = nullptr);

/// Compiles and runs the case, and CHECKs it.
void check_backward(const Case& c);
/// The same for a spec's text and a problem of its own.
void check_backward(const Spec& spec, const ProblemInputs& inputs, Layout layout = Layout::bhsd);

/// Specs from their params and tensors on, whose gradients find their elements in every way that there is.
const std::vector<std::string>& captured_items();

}  // namespace fa::tools
