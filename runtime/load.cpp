#include "runtime/load.h"

#include <fmt/format.h>

#include "runtime/driver.h"

namespace fa {

CudaKernel::~CudaKernel() {
  if (module == nullptr) return;
  try {
    const CudaDevice::Current current(device);
    device.table().module_unload(module);
  } catch (const DeviceError&) {  // the driver is gone already, and the module with it
  }
}

std::unique_ptr<const CudaKernel> load_cuda(const CudaDevice& device, const Binary& binary) {
  const DeviceInfo& info = device.info();
  if (binary.shared_memory > info.max_smem_per_block) {
    throw DeviceError(
        fmt::format("the plan asks for {} bytes of shared memory, {} gives a block at most {}: choose "
                    "smaller tiles (Options::plan, FA_PLAN)",
                    binary.shared_memory, info.name, info.max_smem_per_block),
        0);
  }
  const DriverTable& table = device.table();
  const CudaDevice::Current current(device);
  auto kernel = std::make_unique<CudaKernel>(device);
  kernel->threads = binary.threads;
  kernel->tile_q = binary.tile_q;
  kernel->tile_kv = binary.tile_kv;
  kernel->summaries = binary.summaries;
  kernel->shared_memory = binary.shared_memory;
  check_driver(table, table.module_load_data(&kernel->module, binary.image.c_str()),
               fmt::format("loading a kernel on {} (driver for CUDA {}.{})", info.name,
                           info.driver_version / 1000, info.driver_version % 1000 / 10));
  check_driver(table, table.module_get_function(&kernel->function, kernel->module, binary.entry.c_str()),
               fmt::format("finding {} in its module", binary.entry));
  if (!binary.summaries.empty()) {
    check_driver(table,
                 table.module_get_function(&kernel->summaries_function, kernel->module,
                                           binary.summaries_entry.c_str()),
                 fmt::format("finding {} in its module", binary.summaries_entry));
  }
  // Also makes a lazily loading driver load it here, and not in the middle of a graph capture.
  check_driver(table,
               table.func_get_attribute(&kernel->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel->function),
               "reading a kernel's registers");
  check_driver(table,
               table.func_set_attribute(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        binary.shared_memory),
               fmt::format("asking for {} bytes of shared memory", binary.shared_memory));
  return kernel;
}

}  // namespace fa
