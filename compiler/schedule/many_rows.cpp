#include "compiler/schedule/many_rows.h"

#include "compiler/analysis/facts.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

bool suits_many_rows(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target) {
  constexpr int kRows = 256, kKeys = 64, kDim = 128;
  const bool is_such_a_tile = plan.family == Family::sm80 && plan.tile_q == kRows && plan.tile_kv == kKeys &&
                              plan.warps == 8 && !plan.q_in_registers;
  if (!is_such_a_tile || spec.dtype == DType::f32 || spec.head_dim != kDim || spec.head_dim_v != kDim ||
      spec.has_dropout || facts.mask_mod.has(DependsOn::q))
    return false;
  if (plan.stages == 2) return !facts.has_score_mod;
  constexpr int kTwoTilesOfTable = 2 * kRows * kKeys * 2;  // bytes
  return facts.addend_is_element && facts.multiplier_is_one &&
         spare_shared_memory_bytes(plan, spec, target) >= kTwoTilesOfTable;
}

}  // namespace fa
