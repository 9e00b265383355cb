// What one forward pass has to compute and to move, counted: the numbers `explain` sets side by side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/schedule/plan.h"

namespace fa {

/// Which limit of the machine is met first.
enum class Bound : std::uint8_t { tensor, exp2, memory };

struct Traffic {
  double flops = 0;  // of the two products, on every (q, kv) pair: 2 B H Nq Nk (d + dv)
  double exps = 0;   // one for each score

  // Bytes of q, k, v, o, lse, and of the captured tensors, which count once however often a hook reads them.
  double standard_bytes = 0;  // unfused: every step from QK^T to PV reads and writes its whole matrix
  double fused_bytes = 0;     // every load and store the kernel issues; what the L2 catches is in there too
  double hbm_bytes = 0;    // of these, what reaches HBM once CTAs that run together share K and V in the L2
  double least_bytes = 0;  // each tensor once
  double baseline_bytes = 0;  // what a baseline moves to and from memory (docs/baselines.md); else 0

  // FlashAttention's formulas times the element size, without constants; M: elements of a CTA's shared
  // memory.
  double standard_bytes_by_formula = 0;  // Theta(N d + N^2)
  double fused_bytes_by_formula = 0;     // Theta(N^2 d^2 / M)

  // How long each limit alone would take at the datasheet's rates; 0 on the host, which has no datasheet
  // here.
  double tensor_ms = 0;
  double exp2_ms = 0;
  double memory_ms = 0;
  Bound bound = Bound::tensor;  // the longest of the three

  std::string print() const;  // a few `key: value` lines
};

std::string_view bound_name(Bound bound);  // "tensor", "exp2", "memory"

Traffic count_traffic(const CheckedSpec& spec, const Facts& facts, const Plan& plan, const Target& target,
                      const ProblemSize& size);

}  // namespace fa
