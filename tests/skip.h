// Reports test cases that cannot run on this machine: each reason once, with the number of test cases, before
// Catch2's summary. Such a test case has no assertions, so that Catch2 counts it as passed; any other that has none
// makes the run fail.
#pragma once

#include <string>

namespace fa::tests {

/// Notes that the running test case, or a part of it, cannot run here. The caller then returns.
void skip(const std::string& reason);

/// After the run: whether no test case passed without an assertion and without a reason.
bool every_case_asserted();

/// Returns whether there is no GPU that kernels can run on, and notes that; with FA_REQUIRE_GPU=1 in the
/// environment the test case fails instead.
bool skip_without_gpu();

/// Returns whether there is no NVRTC, and notes that.
bool skip_without_nvrtc();

}  // namespace fa::tests
