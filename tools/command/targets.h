// Targets for the command: the default one, the one of a running kernel, and kernels that are built for a
// report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "compiler/target/target.h"
#include "fa/kernel.h"

namespace fa::tools {

/// The targets' names, those of GPUs first.
std::vector<std::string> target_words(bool with_host);
/// "t4, a100, ... or host"
std::string target_names();
/// The target that stands for an architecture ("sm_80", "sm_90a"): the first of its compute capability, under
/// that architecture's own name, which must outlive it. Throws ArgumentError listing the architectures.
Target target_of_arch(std::string_view arch);
/// The GPU in this machine, or the A100 where there is none.
const Target& default_gpu_target();
/// What `kernel` was compiled for; where that is this machine's GPU, with its actual limits.
const Target& target_of_kernel(const Kernel& kernel, int cuda_device);
/// What `kernel` runs on.
const Target& device_of_kernel(const Kernel& kernel, int cuda_device);

/// Builds a source by NVRTC, without a GPU.
struct BuiltKernel {
  int registers = 0;
  int spill_bytes = 0;
  std::size_t cubin_bytes = 0;
  double milliseconds = 0;
};

BuiltKernel build_for_inspection(const Source& source);

}  // namespace fa::tools
