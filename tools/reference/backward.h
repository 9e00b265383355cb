// The fp64 reference of the backward pass: standard attention's gradients by the definition (Algorithm 3 of
// the FlashAttention paper), one row at a time, P kept whole. Slow and plain on purpose.
//
// The derivatives of score_mod and the sink are those of the stage `derive`, evaluated in fp64. They are no
// second opinion: what tells whether they are right is that the gradients here agree with differences of
// reference_forward, which knows none (tests/tools/reference/backward.cpp).
#pragma once

#include <vector>

#include "tools/problem/problem.h"
#include "tools/reference/error_bound.h"

namespace fa::tools {

/// What the loss's gradient is by the outputs.
struct OutputGradients {
  std::vector<double> o;    // batch x num_q_heads x q_len x head_dim_v
  std::vector<double> lse;  // batch x num_q_heads x q_len; empty: lse is not part of the loss
};

struct InputGradients {
  std::vector<double> q, k, v;               // in the layout of q, k and v; heads of a group added up
  std::vector<double> params;                // in the spec's order; 0 where not marked `grad`
  std::vector<std::vector<double>> tensors;  // likewise; empty where not marked
};

/// A row that keeps no key gives nothing, and neither does a key of probability 0, whatever derivative it
/// has.
InputGradients reference_backward(const Problem& problem, const OutputGradients& outputs);

/// The reference, and how far a kernel's gradients may be from it (docs/numerics.md).
struct MeasuredGradients {
  InputGradients reference, allowed;
  std::int64_t doubtful_rows = 0;
};

/// Rows in which correct targets may decide an element otherwise are left out: their gradients in `outputs`
/// are set to 0, so that they give nothing, here and in a kernel that is run with `outputs` afterwards.
/// `on_progress` gets the share of the rows that is done, and may throw.
MeasuredGradients measured_backward(const Problem& problem, OutputGradients& outputs,
                                    const OnProgress& on_progress = {});

/// The bound's constants for gradients: those of the forward pass, with the query rows that dK and dV sum
/// over.
ErrorBound gradient_bound(const Problem& problem);

}  // namespace fa::tools
