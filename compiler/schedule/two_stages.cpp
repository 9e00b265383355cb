#include "compiler/schedule/two_stages.h"

#include "compiler/analysis/facts.h"
#include "compiler/schedule/shape.h"

namespace fa {

bool has_warps_apart(const Plan& plan) {
  return plan.stages == 2 && !traits_of(plan.family).has_warpgroups && plan.family != Family::host;
}

bool gains_by_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts,
                         const Target& target) {
  if (!has_warps_apart(plan) || spec.dtype == DType::f32 || facts.addend_is_linear) return false;
  if (!facts.addend_reads_elements) return true;
  const int two_tiles_of_table = 2 * plan.tile_q * plan.tile_kv * dtype_bytes(spec.dtype);
  return facts.addend_is_element && facts.multiplier_is_one &&
         spare_shared_memory_bytes(plan, spec, target) >= two_tiles_of_table;
}

bool suits_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target) {
  constexpr int kFewestRows = 128, kFewestKeys = 64;
  constexpr int kLong = 128;  // columns for which warps of 32 rows have registers
  const bool has_large_warps = row_tiles_per_warp(plan) == 2 || spec.head_dim_v > kLong;
  return plan.tile_q >= kFewestRows && plan.tile_kv >= kFewestKeys && has_large_warps &&
         gains_by_two_stages(plan, spec, facts, target);
}

bool suits_many_rows(const Plan& plan, const Facts& facts) {
  constexpr int kRows = 256;
  return has_warps_apart(plan) && plan.tile_q == kRows &&
         (!facts.has_score_mod || facts.addend_reads_elements);
}

}  // namespace fa
