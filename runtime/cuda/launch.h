// From a loaded kernel and its arguments to work on a stream.
#pragma once

#include "fa/kernel.h"
#include "runtime/cuda/cuda_kernel.h"
#include "templates/params.h"

namespace fa {

/// Bytes of workspace a call needs on the device: those of its tile map.
std::size_t workspace_bytes(const CudaKernel& kernel, const ForwardParams& params);

/// Enqueues the forward kernel, what fills its tile map first where it has one: grid (q tiles x heads in
/// turn, heads / those, batch). `kv_bytes`: K and V of one kv head. Allocates nothing and can be captured in
/// a graph. Throws DeviceError.
void launch_forward(const CudaKernel& kernel, const ForwardParams& params, std::int64_t kv_bytes,
                    Stream stream);

/// What a call with queries but no keys leaves behind, o zero and lse -inf, enqueued as memsets (`element`
/// bytes each).
void launch_empty_rows(const CudaDevice& device, const ForwardParams& params, int head_dim_v, int element,
                       Stream stream);
/// The same in host memory.
void fill_empty_rows(const ForwardParams& params, int head_dim_v, int element);

}  // namespace fa
