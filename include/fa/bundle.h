// Kernels built beforehand: `facet build` makes a bundle on any machine, a program with a GPU loads it. Link
// facet::bundle: it holds neither LLVM nor NVRTC. The file: docs/bundles.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fa/error.h"
#include "fa/export.h"
#include "fa/kernel.h"

namespace fa FA_API {

/// A bundle is not what `facet build` wrote, is another version's, or lacks what was asked for.
class BundleError : public Error {
 public:
  using Error::Error;
};

/// A kernel in a bundle: a spec built for an architecture.
struct BundleEntry {
  std::string name;  // the spec's
  int head_dim = 0;
  int head_dim_v = 0;
  DType dtype = DType::bf16;
  std::string arch;               // "sm_80"
  std::string plan;               // as `facet explain` prints it; of several the one for large calls
  std::vector<KernelPlan> plans;  // all of them, as Kernel::plans
  std::size_t bytes = 0;          // of the cubins
  bool backward = false;          // whether its Kernel::backward works
};

struct BundleState;  // runtime/

/// A bundle that has been read and checked whole; cheap to copy, usable from several threads at once. Kernels
/// outlive it.
class Bundle {
 public:
  const std::string& path() const;
  const std::vector<BundleEntry>& entries() const;

  /// The kernel of a spec on the GPU `cuda_device` (0: FA_CUDA_DEVICE, else the first), loaded by the first
  /// call and kept. Throws BundleError where the bundle has none for that spec or that GPU, DeviceError where
  /// there is no GPU or its driver is too old; each says what to do. Its spec() is without hooks.
  Kernel kernel(std::string_view name, int head_dim, DType dtype, int cuda_device = 0) const;

  explicit Bundle(std::shared_ptr<const BundleState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const BundleState> state_;
};

/// Reads a bundle, or the one in a folder that `facet build -o FOLDER/` wrote, and checks every byte of it;
/// needs no GPU. Throws BundleError that names the file, what is wrong with it and the remedy.
Bundle load_bundle(const std::string& path);

}  // namespace fa FA_API
