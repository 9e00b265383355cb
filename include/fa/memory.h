// Memory on a GPU, for programs that have no allocator of their own. Kernels take any device pointer.
#pragma once

#include <cstddef>
#include <memory>

#include "fa/export.h"

namespace fa FA_API {

class DeviceBuffer;  // runtime/

/// Device memory, 256-byte aligned; freed with the object. Every call throws DeviceError where it fails.
class GpuMemory {
 public:
  explicit GpuMemory(std::size_t bytes, int cuda_device = 0);
  ~GpuMemory();
  GpuMemory(GpuMemory&&) noexcept;
  GpuMemory& operator=(GpuMemory&&) noexcept;

  void* data() const;
  /// Both are ordered after the default stream's work, and done on return.
  void upload(const void* from, std::size_t bytes);
  void download(void* to, std::size_t bytes) const;

 private:
  std::unique_ptr<DeviceBuffer> buffer_;
};

}  // namespace fa FA_API
