// Device memory and event timing for sessions on a GPU, over runtime/cuda/device_memory.
#include <algorithm>

#include "runtime/cuda/device_memory.h"
#include "tools/problem/session.h"

namespace fa::tools {

namespace {

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(int cuda_device) : device_(CudaDevice::get(cuda_device)) {}

  void upload(void* to, const void* from, std::size_t bytes) override { buffer(to).upload(from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { buffer(from).download(to, bytes); }
  void synchronize() override { device_.synchronize(); }

  std::vector<double> time(int runs, const std::function<void(int)>& launch) override {
    return time_on_device(device_, runs, launch);
  }

 private:
  void* do_allocate(std::size_t bytes) override {
    buffers_.emplace_back(device_, std::max<std::size_t>(bytes, 1));
    return buffers_.back().data();
  }

  DeviceBuffer& buffer(const void* data) {
    const auto found = std::ranges::find(buffers_, data, &DeviceBuffer::data);
    if (found == buffers_.end()) throw InternalError("a session copies to memory that is not its own");
    return *found;
  }

  const CudaDevice& device_;
  std::vector<DeviceBuffer> buffers_;
};

}  // namespace

std::unique_ptr<Memory> cuda_memory(int cuda_device) { return std::make_unique<CudaMemory>(cuda_device); }

}  // namespace fa::tools
