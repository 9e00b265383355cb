// What a fa::Kernel holds: code loaded on a device or on the host, shared by every compile that found it, and
// the times of the compile that returned it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fa/kernel.h"
#include "runtime/call/backward_arguments.h"
#include "runtime/cuda/cuda_buckets.h"
#include "templates/params.h"

namespace fa {

/// A kernel's backward pass, on the host or on a GPU, for calls that have queries and keys. It owns its code.
struct BackwardPass {
  std::function<std::size_t(const BackwardCall&)> workspace_bytes;
  std::function<void(const BackwardCall&, void* workspace, Stream stream)> run;
};

/// A kernel's forward pass on the host, for calls that have queries and keys. It owns its code, and is made of functions so
/// that a program without LLVM can hold a kernel.
struct HostForward {
  std::function<void(const ForwardParams&, void* workspace)> run = {};
  std::function<std::size_t(const CallParams&)> workspace_needed = {};  // empty: none, for any call

  std::size_t workspace_bytes(const CallParams& call) const {
    return workspace_needed ? workspace_needed(call) : 0;
  }
};

struct LoadedKernel {
  Spec spec;
  Device device = Device::host;
  std::string target;
  std::string plan;  // on a GPU that of the last bucket
  // Exactly one of the two is set.
  CudaBuckets cuda;
  HostForward host;
  BackwardPass backward = {};                                               // empty where none was asked for
  const char* backward_remedy = "compile the spec with Options::backward";  // where it is empty
  // A checked kernel runs this before each launch (runtime/checked.h).
  std::function<void(const ForwardArgs&, Stream)> check = {};
};

struct KernelState {
  std::shared_ptr<const LoadedKernel> loaded;
  CompileTimes times;
};

}  // namespace fa
