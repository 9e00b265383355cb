// fa::GpuMemory: a DeviceBuffer for programs.
#include "fa/memory.h"

#include "runtime/cuda/device_memory.h"

namespace fa {

GpuMemory::GpuMemory(std::size_t bytes, int cuda_device)
    : buffer_(std::make_unique<DeviceBuffer>(CudaDevice::get(cuda_device), bytes)) {}
GpuMemory::~GpuMemory() = default;
GpuMemory::GpuMemory(GpuMemory&&) noexcept = default;
GpuMemory& GpuMemory::operator=(GpuMemory&&) noexcept = default;

void* GpuMemory::data() const { return buffer_->data(); }
void GpuMemory::upload(const void* from, std::size_t bytes) { buffer_->upload(from, bytes); }
void GpuMemory::download(void* to, std::size_t bytes) const { buffer_->download(to, bytes); }

}  // namespace fa
