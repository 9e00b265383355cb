#include "compiler/schedule/two_stages.h"

#include "compiler/analysis/facts.h"
#include "compiler/schedule/shape.h"

namespace fa {

bool has_warps_apart(const Plan& plan) {
  return plan.stages == 2 && !traits_of(plan.family).has_warpgroups && plan.family != Family::host;
}

bool suits_two_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target) {
  constexpr int kNarrowest = 64;
  if (spec.dtype == DType::f32 || plan.warps < kSchedulersOfSm || plan.tile_kv < kNarrowest ||
      facts.addend_is_linear)
    return false;
  if (!facts.addend_reads_elements) return true;
  const int two_tiles_of_table = 2 * plan.tile_q * plan.tile_kv * dtype_bytes(spec.dtype);
  return facts.addend_is_element && facts.multiplier_is_one &&
         spare_shared_memory_bytes(plan, spec, target) >= two_tiles_of_table;
}

}  // namespace fa
