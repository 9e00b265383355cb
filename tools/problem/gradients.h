// A kernel's backward pass on a problem, where the kernel runs: gradients of the outputs in, gradients of the inputs
// out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa/kernel.h"
#include "tools/problem/problem.h"
#include "tools/problem/session.h"

namespace fa::tools {

/// The loss's gradients by the outputs, as a kernel gets them.
struct OutputGradientTensors {
  HostTensor o;            // [batch, heads, q_len, head_dim_v], in the spec's dtype
  std::vector<float> lse;  // [batch, heads, q_len]; empty: none
};

/// Seeded N(0, 1).
OutputGradientTensors random_output_gradients(const Problem& problem, std::uint64_t seed,
                                              bool with_lse = true);

/// A kernel's gradients: d_q, d_k, d_v, then of each param and tensor marked `grad` its own, in the spec's
/// order, as f32.
struct KernelGradients {
  std::vector<HostTensor> tensors;              // by name
  std::vector<double> forward_ms, backward_ms;  // of each run
  std::size_t workspace_bytes = 0;
  std::size_t allocated_bytes = 0;  // of tensors, gradients and both passes' workspace
};

/// Runs the forward pass `runs` times, then the backward pass. Elements that no kernel writes are NaN.
/// `kernel` was compiled with Options::backward, for the host or for GPU `cuda_device`.
KernelGradients run_backward(const Kernel& kernel, const Problem& problem,
                             const OutputGradientTensors& outputs, Layout layout = Layout::bhsd, int runs = 1,
                             int cuda_device = 0);

}  // namespace fa::tools
