#include "runtime/cuda/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/cuda/driver.h"

namespace fa {
namespace {

struct Ledger {
  std::mutex mutex;
  std::map<const CudaDevice*, BufferUse> uses;
};

Ledger& ledger() {
  static Ledger& value = *new Ledger;  // outlives every buffer
  return value;
}

void account(const CudaDevice& device, std::int64_t bytes) {
  const std::lock_guard lock(ledger().mutex);
  BufferUse& use = ledger().uses[&device];
  use.now += bytes;
  use.peak = std::max(use.peak, use.now);
}

CUdeviceptr address(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }
CUstream handle(Stream stream) { return static_cast<CUstream>(stream); }

}  // namespace

DeviceBuffer::DeviceBuffer(const CudaDevice& device, std::size_t bytes) : device_(&device), bytes_(bytes) {
  if (bytes == 0) return;
  const CudaDevice::Current current(device);
  CUdeviceptr pointer = 0;
  check_driver(device.table(), device.table().mem_alloc(&pointer, bytes),
               fmt::format("allocating {} bytes on {}", bytes, device.info().name));
  data_ = reinterpret_cast<void*>(pointer);
  account(device, static_cast<std::int64_t>(bytes));
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ == nullptr) return;
  try {
    const CudaDevice::Current current(*device_);
    device_->table().mem_free(address(data_));
  } catch (const DeviceError&) {  // the context is gone, and the memory with it
  }
  account(*device_, -static_cast<std::int64_t>(bytes_));
}

void DeviceBuffer::swap(DeviceBuffer& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
}

void DeviceBuffer::upload(const void* from, std::size_t bytes, std::size_t offset, Stream stream) {
  if (bytes == 0) return;
  const CudaDevice::Current current(*device_);
  const DriverTable& table = device_->table();
  check_driver(table, table.memcpy_htod_async(address(data_) + offset, from, bytes, handle(stream)),
               "copying to the GPU");
  check_driver(table, table.stream_synchronize(handle(stream)), "copying to the GPU");
}

void DeviceBuffer::download(void* to, std::size_t bytes, std::size_t offset, Stream stream) const {
  if (bytes == 0) return;
  const CudaDevice::Current current(*device_);
  const DriverTable& table = device_->table();
  check_driver(table, table.memcpy_dtoh_async(to, address(data_) + offset, bytes, handle(stream)),
               "copying from the GPU");
  check_driver(table, table.stream_synchronize(handle(stream)), "copying from the GPU");
}

void DeviceBuffer::fill(unsigned char value, Stream stream) {
  if (bytes_ == 0) return;
  const CudaDevice::Current current(*device_);
  check_driver(device_->table(),
               device_->table().memset_d8_async(address(data_), value, bytes_, handle(stream)),
               "filling device memory");
}

BufferUse buffer_use(const CudaDevice& device) {
  const std::lock_guard lock(ledger().mutex);
  return ledger().uses[&device];
}

void reset_peak(const CudaDevice& device) {
  const std::lock_guard lock(ledger().mutex);
  BufferUse& use = ledger().uses[&device];
  use.peak = use.now;
}

DeviceMemory device_memory(const CudaDevice& device) {
  const CudaDevice::Current current(device);
  std::size_t free = 0;
  std::size_t total = 0;
  check_driver(device.table(), device.table().mem_get_info(&free, &total), "reading the GPU's free memory");
  return {.free = static_cast<std::int64_t>(free), .total = static_cast<std::int64_t>(total)};
}

OwnedStream::OwnedStream(const CudaDevice& device) : device_(device) {
  const CudaDevice::Current current(device);
  CUstream stream = nullptr;
  check_driver(device.table(), device.table().stream_create(&stream, CU_STREAM_NON_BLOCKING),
               "creating a stream");
  stream_ = stream;
}

OwnedStream::~OwnedStream() { device_.table().stream_destroy(handle(stream_)); }

void OwnedStream::synchronize() const {
  check_driver(device_.table(), device_.table().stream_synchronize(handle(stream_)), "waiting for a stream");
}

}  // namespace fa
