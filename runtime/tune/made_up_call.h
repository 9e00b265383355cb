// A call with made-up numbers, on which Tune::once times kernels. Values decide no kernel's time as long as they are ordinary
// numbers and the mask reads none of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/schedule/plan.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/tune/tune.h"

namespace fa {

class MadeUpCall final : public KernelTimer {
 public:
  /// Makes q, k, v, o and the spec's tensors, in memory of this process or, where `device` is not null, of that GPU. Throws
  /// DeviceError or std::bad_alloc where there is too little, ArgumentError where a tensor's extent is negative.
  MadeUpCall(const Spec& spec, const ProblemSize& size, const CudaDevice* device);

  /// On a GPU the median launch, by events on a stream of its own; on the host the fastest.
  std::optional<double> seconds(const Kernel& kernel, int runs) override;

 private:
  void* allocate(std::size_t bytes);
  void* fill(std::size_t elements, DType dtype);
  void give_workspace(const Kernel& kernel);
  std::vector<double> time(const Kernel& kernel, int launches);

  const CudaDevice* device_;
  std::unique_ptr<OwnedStream> stream_;
  std::vector<DeviceBuffer> on_device_;
  std::vector<std::vector<std::byte>> on_host_;
  ForwardArgs args_;
};

/// `size`, or as much shorter as it takes for all tensors of the call to fit in `most_bytes`; nothing where 512 queries and
/// keys do not. Throws as MadeUpCall does.
std::optional<ProblemSize> size_that_fits(const Spec& spec, ProblemSize size, std::int64_t most_bytes);

}  // namespace fa
