// Memory, streams, events and timing on a GPU, for the command and the tests. Kernels never allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "fa/kernel.h"
#include "runtime/cuda/device.h"

namespace fa {

/// Device memory, 256-byte aligned; freed with the value. Zero bytes take none.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const CudaDevice& device, std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  /// Ordered on `stream`; returns once the bytes are there.
  void upload(const void* from, std::size_t bytes, std::size_t offset = 0, Stream stream = nullptr);
  void download(void* to, std::size_t bytes, std::size_t offset = 0, Stream stream = nullptr) const;
  /// Every byte to `value`; ordered on `stream`, does not wait.
  void fill(unsigned char value, Stream stream = nullptr);

 private:
  void swap(DeviceBuffer& other) noexcept;

  const CudaDevice* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What this process' DeviceBuffers hold on one device, and the most since the last reset.
struct BufferUse {
  std::int64_t now = 0;
  std::int64_t peak = 0;
};
BufferUse buffer_use(const CudaDevice& device);
void reset_peak(const CudaDevice& device);

/// Of the whole GPU, every process counted.
struct DeviceMemory {
  std::int64_t free = 0;
  std::int64_t total = 0;
};
DeviceMemory device_memory(const CudaDevice& device);

/// A stream that does not wait for the default one.
class OwnedStream {
 public:
  explicit OwnedStream(const CudaDevice& device);
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  operator Stream() const { return stream_; }
  void synchronize() const;

 private:
  const CudaDevice& device_;
  Stream stream_ = nullptr;
};

/// Milliseconds each of `runs` calls of `launch(i)` takes on the device, by a pair of events around each;
/// waits only after the last.
std::vector<double> time_on_device(const CudaDevice& device, int runs, const std::function<void(int)>& launch,
                                   Stream stream = nullptr);

}  // namespace fa
