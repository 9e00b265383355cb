// A problem's inputs on one GPU, shared by many calls; each call under way has its own outputs.
#pragma once

#include <vector>

#include "runtime/cuda/device_memory.h"
#include "tools/problem/problem.h"

namespace fa::tools {

class Placed {
 public:
  Placed(const CudaDevice& device, const Problem& problem);

  const CudaDevice& device() const { return device_; }

  /// Outputs and workspace of one call, and its arguments.
  class Call {
   public:
    Call(const Placed& placed, const Kernel& kernel);

    const ForwardArgs& args() const { return args_; }
    void poison(Stream stream);
    /// o, then lse, as bytes; waits for `stream`.
    std::vector<std::byte> result(Stream stream) const;

   private:
    DeviceBuffer o_, lse_, workspace_;
    ForwardArgs args_;
  };

  Call call(const Kernel& kernel) const { return Call(*this, kernel); }

 private:
  void* place(const HostTensor& tensor);

  const CudaDevice& device_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::string> names_;  // of the captured tensors, which args_ refers to
  ForwardArgs args_;                // without outputs
};

}  // namespace fa::tools
