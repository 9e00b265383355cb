// The Target of a GPU that is really there, and whether this process can use it.
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "runtime/device.h"

namespace fa {

/// The literal that fits the GPU best, with the limits and counts the driver reports and the GPU's own arch.
/// A GPU newer than every literal takes the nearest older one's rates. Lives as long as the process. Throws
/// DeviceError where Facet has no kernels for it.
const Target& target_of(const DeviceInfo& info);

/// Why kernels cannot be built and run on that GPU, or an empty string where they can: no driver, no such
/// device, too old, no NVRTC. Found out once per process; Device::automatic goes by it.
const std::string& why_no_cuda(int ordinal);

}  // namespace fa
