#include "compiler/schedule/many_rows.h"

#include "compiler/analysis/facts.h"
#include "compiler/spec/spec.h"

namespace fa {

bool suits_many_rows(const Plan& plan, const CheckedSpec& spec, const Facts& facts) {
  constexpr int kDim = 128;
  const bool is_such_a_tile = plan.family == Family::sm80 && plan.tile_q == 256 && plan.tile_kv == 64 &&
                              plan.warps == 8 && plan.stages == 2 && !plan.q_in_registers;
  return is_such_a_tile && spec.dtype != DType::f32 && spec.head_dim == kDim && spec.head_dim_v == kDim &&
         !facts.has_score_mod && !spec.has_dropout && !facts.mask_mod.has(DependsOn::q);
}

}  // namespace fa
