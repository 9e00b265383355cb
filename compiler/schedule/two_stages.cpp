#include "compiler/schedule/two_stages.h"

#include "compiler/analysis/facts.h"
#include "compiler/schedule/shape.h"

namespace fa {

bool has_warps_apart(const Plan& plan) {
  return plan.stages == 2 && !traits_of(plan.family).has_warpgroups && plan.family != Family::host;
}

namespace {

bool is_of_columns(DependsOn value) { return value.has(DependsOn::kv) && !value.has(DependsOn::q); }

/// Whether score_mod takes something from each column alone, which kernels stage in one buffer where it takes long to find.
bool takes_columns(const Facts& facts) {
  if (facts.score_form == ScoreForm::general) return is_of_columns(facts.score_mod);
  return facts.has_score_mod && (is_of_columns(facts.multiplier) || is_of_columns(facts.addend));
}

/// Whether the mask leaves rows of tiles without holes, as far as is known before its tensors are.
bool keeps_long_rows(const Facts& facts) {
  constexpr int kShort = 3;  // operations an element: `causal` has one, sparse bands more
  if (!facts.has_mask || !facts.mask_mod.has(DependsOn::q)) return true;
  return facts.mask_band && !facts.mask_is_by_diagonal && facts.element_ops <= kShort;
}

}  // namespace

bool gains_by_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts,
                         const Target& target) {
  if (!has_warps_apart(plan) || spec.dtype == DType::f32 || facts.addend_is_linear || takes_columns(facts))
    return false;
  if (!facts.addend_reads_elements) return true;
  const int two_tiles_of_table = 2 * plan.tile_q * plan.tile_kv * dtype_bytes(spec.dtype);
  return facts.addend_is_element && facts.multiplier_is_one &&
         spare_shared_memory_bytes(plan, spec, target) >= two_tiles_of_table;
}

bool suits_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target) {
  constexpr int kFewestRows = 128, kFewestKeys = 64;
  constexpr int kLong = 128;  // columns for which warps of 32 rows have registers
  const bool has_large_warps = row_tiles_per_warp(plan) == 2 || spec.head_dim_v > kLong;
  const bool ends_late = facts.global_tokens.see && ctas_that_fit(plan, spec, target) == 1;
  return plan.tile_q >= kFewestRows && plan.tile_kv >= kFewestKeys && has_large_warps &&
         !plan.q_in_registers && !ends_late && gains_by_two_stages(plan, spec, facts, target);
}

bool suits_many_rows(const Plan& plan, const Facts& facts) {
  constexpr int kRows = 256;
  return has_warps_apart(plan) && plan.tile_q == kRows &&
         (!facts.has_score_mod || facts.addend_reads_elements) && keeps_long_rows(facts);
}

}  // namespace fa
