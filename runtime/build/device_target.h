// The Target of a GPU of this machine, and whether this process can use it.
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "runtime/cuda/device.h"

namespace fa {

/// The literal of target.cpp that fits the GPU best, with the limits and counts that the driver reports and
/// the GPU's own architecture. A GPU newer than every literal gets the rates of the nearest older one. The
/// result lives as long as the process. Throws DeviceError where Facet has no kernels for it.
const Target& target_of(const DeviceInfo& info);

/// The literal of a GPU called `name`. Throws ArgumentError where there is none.
const Target& check_gpu_target(const std::string& name);

/// The literal called `name`, for kernels that run on that GPU in place of its own: of the same compute
/// capability, or older and then through PTX, which the driver compiles. target_of where `name` is empty.
/// Throws as check_gpu_target, and DeviceError where it is newer than the GPU.
const Target& target_named(const std::string& name, const DeviceInfo& info);

/// Why kernels cannot be built and run on that GPU, or an empty string where they can: no driver, no such
/// device, too old, no NVRTC. Determined once per process; Device::automatic uses it.
const std::string& why_no_cuda(int ordinal);

}  // namespace fa
