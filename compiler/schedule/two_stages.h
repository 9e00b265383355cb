// Which sm_80 kernels should have two buffers each for K and V, where shared memory has room.
#pragma once

#include "compiler/schedule/plan.h"

namespace fa {

/// Warps of a plan in two stages are up to a tile apart (templates/common/forward.cuh), so that tensor cores have the products of
/// some while others are in their softmax.
bool has_warps_apart(const Plan& plan);

/// Whether such a plan is as fast as the model says. Not in f32, whose products take so long that no copy is waited for, nor for
/// CTAs of fewer than four warps, many of which are beside each other, nor for fewer than 64 keys: these were not timed. Not for linear addends, which would
/// spill. Where the addend is read from a table, its tiles must have two buffers as well, and be
/// all that is added: one buffer, which warps are done with together, keeps them in step.
bool suits_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target);

}  // namespace fa
