// Which sm_80 kernels should have two buffers each for K and V, where shared memory has room.
#pragma once

#include "compiler/schedule/plan.h"

namespace fa {

/// Warps of a plan in two stages are up to a tile apart (templates/common/forward.cuh), so that tensor cores have the products of
/// some while others are in their softmax.
bool has_warps_apart(const Plan& plan);

/// Whether such a plan gains what the model says. Not in f32, whose products take so long that no copy is waited for. Not for linear
/// addends, which would spill, nor for what score_mod takes from columns alone, which was not timed. Where the addend is read from a
/// table, its tiles must have two buffers as well, and be all that is added: one buffer, which warps are done with together, keeps
/// them in step.
bool gains_by_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target);

/// Whether `choose` should consider it. Not for fewer than 64 keys, which were not timed. Not for fewer rows than 128: more such CTAs
/// fit on an SM in one stage (an H200, 64 x 64 in three CTAs and in two: 0.85 to 1.12 of the time). Not for warps of 16 rows where
/// they could have 32. Not with Q in registers, where shared memory has room for K and V alone (an A100's kernel at d256 on an
/// H200, dense: 1.07). Not in a CTA that has an SM to itself where some rows keep far more keys than others: the call ends with
/// theirs (`global_window` at d256: 1.13 of the time of 64 x 64 in two CTAs).
bool suits_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target);

/// Whether the plan has tiles of 256 rows, in a CTA that has an SM to itself, and the spec suits that: they read K and V from the L2
/// cache half as often as 128 rows, where the mask leaves few holes. On an H200, bf16, d128, beside 128 x 64 in two CTAs in one
/// stage, N8192 and N2048: dense 0.94, 0.94, causal 0.91, 0.97, a table 0.96. With another score_mod they gain less and lose short
/// calls (softcap 0.98, 1.05 at N512; t5_bias 0.97, 1.07 at N2048), where 128 rows in two stages take 0.95 to 0.99.
bool suits_many_rows(const Plan& plan, const Facts& facts);

}  // namespace fa
