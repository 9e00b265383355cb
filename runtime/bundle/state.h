// Behind fa::Bundle: what was read, and the kernels loaded from it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fa/bundle.h"
#include "runtime/bundle/format.h"
#include "runtime/cuda/device.h"
#include "runtime/store/memory_cache.h"

namespace fa {

struct BundleState {
  std::string path;
  BundleContents contents;
  std::vector<BundleEntry> entries;  // as contents.kernels
  mutable MemoryCache loaded = {};
};

std::shared_ptr<const BundleState> make_bundle_state(std::string path, BundleContents contents);

/// Whether a cubin built for `arch` ("sm_80", "sm_90a") runs on a GPU of `compute_capability` (90).
bool runs_on(std::string_view arch, int compute_capability);

/// The kernel of a spec that suits the GPU best. Throws BundleError where there is none.
const BundleKernel& pick_kernel(const BundleState& bundle, std::string_view name, int head_dim, DType dtype,
                                const DeviceInfo& gpu);

/// Loads it, or finds it loaded. Throws as Bundle::kernel does.
Kernel load_kernel(const BundleState& bundle, std::string_view name, int head_dim, DType dtype,
                   const CudaDevice& device);

}  // namespace fa
