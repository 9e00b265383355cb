// Tests that cannot run on a machine say so: each reason once, with how many test cases it kept, before
// Catch2's summary. A test case that was kept has no assertions and would pass in silence.
#pragma once

#include <string>

namespace fa::tests {

/// Notes that the running test case, or a part of it, cannot run here. The caller returns.
void skip(const std::string& reason);

/// Whether there is no GPU that kernels can run on, which is then noted; with FA_REQUIRE_GPU=1 in the
/// environment the test case fails instead.
bool skip_without_gpu();

/// Whether there is no NVRTC, which is then noted.
bool skip_without_nvrtc();

}  // namespace fa::tests
