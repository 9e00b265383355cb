// From a loaded kernel and its arguments to work on a stream.
#pragma once

#include "fa/kernel.h"
#include "runtime/call/backward_arguments.h"
#include "runtime/cuda/cuda_kernel.h"
#include "templates/params.h"

namespace fa {

/// Enqueues the kernel's passes, in order, with the same arguments: `params` and what the launch adds
/// to them (templates/params.h). `kv_bytes`: K and V of one kv head. `workspace`: memory of workspace_bytes
/// (compiler/program/workspace.h). Allocates nothing and can be captured in a graph. Throws DeviceError.
void launch(const CudaKernel& kernel, ForwardParams params, std::int64_t kv_bytes, void* workspace,
            Stream stream);

/// The same of a backward pass. Captured gradients are set to zero first: its passes add to them.
void launch_backward(const CudaKernel& kernel, const BackwardCall& call, std::int64_t kv_bytes,
                     void* workspace, Stream stream);

/// Zeros for every gradient of a call without queries or without keys.
void launch_zeros(const CudaDevice& device, const CheckedSpec& spec, const BackwardCall& call, Stream stream);

/// What a call with queries but no keys leaves behind, o zero and lse -inf, enqueued as memsets (`element`
/// bytes each).
void launch_empty_rows(const CudaDevice& device, const ForwardParams& params, int head_dim_v, int element,
                       Stream stream);
/// The same in host memory.
void fill_empty_rows(const ForwardParams& params, int head_dim_v, int element);

}  // namespace fa
