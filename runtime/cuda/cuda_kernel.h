// From a binary to a function on one device.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/binary.h"
#include "runtime/cuda/device.h"

struct CUmod_st;
struct CUfunc_st;

namespace fa {

/// A loaded kernel; unloads itself.
struct CudaKernel {
  explicit CudaKernel(const CudaDevice& on) : device(on) {}
  ~CudaKernel();
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  const CudaDevice& device;
  CUmod_st* module = nullptr;
  Program program;
  std::vector<CUfunc_st*> functions;  // one for each pass
  int registers = 0;                  // per thread, of the pass that takes the most, as the driver says
};

/// Throws DeviceError where the driver refuses the binary or the device lacks the shared memory.
std::unique_ptr<const CudaKernel> load_cuda(const CudaDevice& device, const Binary& binary);

}  // namespace fa
