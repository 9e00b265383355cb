// Plans of FlashAttention's algorithm 1: the fused kernel's of one stage, without Q in registers.
#pragma once

#include <string>

#include "compiler/schedule/plan.h"

namespace fa {

/// Empty where the plan can run; else the reason. Its family runs the spec on the target.
std::string why_illegal_flash1(const Plan& plan, const CheckedSpec& spec, const Target& target);

/// The largest tile that fits. A CTA goes over a whole head, so that an SM seldom has two.
Plan default_flash1_plan(Family family, const CheckedSpec& spec, const Target& target);

/// Dynamic bytes of shared memory of a CTA of the pass over all tiles and of the last pass.
int tiles_shared_memory(const Plan& plan, const CheckedSpec& spec);
int staged_output_bytes(const Plan& plan, const CheckedSpec& spec);

}  // namespace fa
