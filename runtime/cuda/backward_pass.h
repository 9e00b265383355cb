// A backward pass on a GPU, from its loaded kernel.
#pragma once

#include <memory>

#include "compiler/spec/spec.h"
#include "runtime/call/kernel_state.h"
#include "runtime/cuda/cuda_kernel.h"

namespace fa {

BackwardPass backward_on_gpu(std::shared_ptr<const CudaKernel> code, const CheckedSpec& spec);

}  // namespace fa
