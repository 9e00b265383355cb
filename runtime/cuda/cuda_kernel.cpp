#include "runtime/cuda/cuda_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/driver.h"

namespace fa {
namespace {

/// Lets this thread load code while some stream is being captured in a graph: the driver refuses calls that
/// may wait, and would spoil the capture, unless the thread says that none of them belongs to it.
class OutsideCaptures {
 public:
  explicit OutsideCaptures(const DriverTable& table) : table_(table) {
    table_.thread_exchange_stream_capture_mode(&mode_);
  }
  ~OutsideCaptures() { table_.thread_exchange_stream_capture_mode(&mode_); }
  OutsideCaptures(const OutsideCaptures&) = delete;
  OutsideCaptures& operator=(const OutsideCaptures&) = delete;

 private:
  const DriverTable& table_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // then the thread's own
};

/// The pass's function, allowed the shared memory that it asks for.
CUfunction find_function(const DriverTable& table, CUmodule module, const Pass& pass) {
  CUfunction function = nullptr;
  check_driver(table, table.module_get_function(&function, module, pass.entry.c_str()),
               fmt::format("finding {} in its module", pass.entry));
  if (pass.shared_memory > 0)
    check_driver(table,
                 table.func_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          pass.shared_memory),
                 fmt::format("asking for {} bytes of shared memory", pass.shared_memory));
  return function;
}

/// Of a thread. The question also makes a lazily loading driver load the function here, and not in the middle
/// of a graph capture.
int registers_of(const DriverTable& table, CUfunction function, const Pass& pass) {
  int registers = 0;
  check_driver(table, table.func_get_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
               fmt::format("reading the registers of {}", pass.entry));
  return registers;
}

}  // namespace

CudaKernel::~CudaKernel() {
  if (module == nullptr) return;
  try {
    const CudaDevice::Current current(device);
    const OutsideCaptures outside(device.table());
    device.table().module_unload(module);
  } catch (const DeviceError&) {  // the driver is gone already, and the module with it
  }
}

std::unique_ptr<const CudaKernel> load_cuda(const CudaDevice& device, const Binary& binary) {
  const DeviceInfo& info = device.info();
  const int shared_memory = most_shared_memory(binary.program);
  if (shared_memory > info.max_smem_per_block) {
    throw DeviceError(
        fmt::format(
            "the plan asks for {} bytes of shared memory, {} gives a block at most {}: choose smaller tiles "
            "(Options::plan, FA_PLAN)",
            shared_memory, info.name, info.max_smem_per_block),
        0);
  }
  const DriverTable& table = device.table();
  const CudaDevice::Current current(device);
  const OutsideCaptures outside(table);
  auto kernel = std::make_unique<CudaKernel>(device);
  kernel->program = binary.program;
  check_driver(table, table.module_load_data(&kernel->module, binary.image.c_str()),
               fmt::format("loading a kernel on {} (driver for CUDA {}.{})", info.name,
                           info.driver_version / 1000, info.driver_version % 1000 / 10));
  for (const Pass& pass : kernel->program) {
    CUfunction function = find_function(table, kernel->module, pass);
    kernel->registers = std::max(kernel->registers, registers_of(table, function, pass));
    kernel->functions.push_back(function);
  }
  return kernel;
}

}  // namespace fa
