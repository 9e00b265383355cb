// What a fa::Kernel holds: code loaded on a device or on the host, shared by every compile that found it, and
// the times of the compile that returned it.
#pragma once

#include <memory>
#include <string>

#include "fa/kernel.h"
#include "runtime/host_jit.h"
#include "runtime/load.h"

namespace fa {

struct LoadedKernel {
  Spec spec;
  Device device = Device::host;
  std::string target;
  std::string plan;
  std::unique_ptr<const CudaKernel> cuda;  // one of the two
  std::shared_ptr<const HostKernel> host;
  int num_threads = 0;
};

struct KernelState {
  std::shared_ptr<const LoadedKernel> loaded;
  CompileTimes times;
};

}  // namespace fa
