#include "runtime/cuda/device.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "runtime/cuda/driver.h"

namespace fa {
namespace {

DeviceInfo read_info(const DriverTable& table, int ordinal) {
  int count = 0;
  check_driver(table, table.device_get_count(&count), "counting the GPUs");
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(
        fmt::format("there is no CUDA device {}: this process sees {}; check CUDA_VISIBLE_DEVICES", ordinal,
                    count == 0 ? "none" : fmt::format("{}", count)),
        count == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_INVALID_DEVICE);
  }
  CUdevice device = 0;
  check_driver(table, table.device_get(&device, ordinal), fmt::format("opening CUDA device {}", ordinal));
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    check_driver(table, table.device_get_attribute(&value, which, device), "reading a GPU's attributes");
    return value;
  };
  char name[256] = {};
  check_driver(table, table.device_get_name(name, sizeof name, device), "reading a GPU's name");
  std::size_t memory = 0;
  check_driver(table, table.device_total_mem(&memory, device), "reading a GPU's memory size");
  int version = 0;
  check_driver(table, table.driver_get_version(&version), "reading the driver's version");
  return {.ordinal = ordinal,
          .name = name,
          .compute_capability = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                                attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
          .num_sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          .max_smem_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
          .max_smem_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
          .reserved_smem_per_block = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
          .registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
          .max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
          .max_ctas_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
          .l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
          .memory_bytes = static_cast<std::int64_t>(memory),
          .driver_version = version};
}

}  // namespace

int device_count() {
  int count = 0;
  const CUresult result = driver().device_get_count(&count);
  if (result == CUDA_ERROR_NO_DEVICE) return 0;
  check_driver(driver(), result, "counting the GPUs");
  return count;
}

const CudaDevice& CudaDevice::get(int ordinal) {
  static std::mutex mutex;
  // Never destroyed: kernels of static lifetime refer to their device until the process ends.
  static auto& devices = *new std::map<int, std::unique_ptr<CudaDevice>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<CudaDevice>& device = devices[ordinal];
  if (device == nullptr) device = std::make_unique<CudaDevice>(driver(), ordinal);
  return *device;
}

CudaDevice::CudaDevice(const DriverTable& table, int ordinal)
    : table_(table), info_(read_info(table, ordinal)) {}

CUctx_st* CudaDevice::context() const {
  if (CUctx_st* const retained = context_.load(std::memory_order_acquire)) return retained;
  const std::lock_guard lock(retaining_);
  if (CUctx_st* const retained = context_.load(std::memory_order_acquire)) return retained;
  CUdevice device = 0;
  check_driver(table_, table_.device_get(&device, info_.ordinal), "opening a GPU");
  CUcontext made = nullptr;
  check_driver(table_, table_.primary_ctx_retain(&made, device),
               fmt::format("opening a context on CUDA device {} ({})", info_.ordinal, info_.name));
  context_.store(made, std::memory_order_release);
  return made;
}

void CudaDevice::synchronize() const {
  const Current current(*this);
  check_driver(table_, table_.ctx_synchronize(), "waiting for the GPU");
}

CudaDevice::Current::Current(const CudaDevice& device) : device_(device) {
  const CUcontext wanted = device.context();
  CUcontext present = nullptr;
  check_driver(device.table_, device.table_.ctx_get_current(&present), "reading the current context");
  if (present == wanted) return;
  check_driver(device.table_, device.table_.ctx_push_current(wanted), "making a GPU's context current");
  pushed_ = true;
}

CudaDevice::Current::~Current() {
  CUcontext popped = nullptr;
  if (pushed_) device_.table_.ctx_pop_current(&popped);
}

}  // namespace fa
