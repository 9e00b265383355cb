#include "compiler/derive/elements.h"

#include <algorithm>

namespace fa {
namespace {

/// Whether one dimension of every read of the tensor is indexed by exactly `name`.
bool has_index(const std::vector<const Adjoint*>& reads, Builtin name) {
  for (std::size_t d = 0; d < reads[0]->indices.size(); ++d)
    if (std::ranges::all_of(reads, [&](const Adjoint* read) {
          const Expr& index = *read->indices[d].expr;
          return index.kind == ExprKind::builtin && index.builtin == name;
        }))
      return true;
  return false;
}

}  // namespace

GradientElements elements_of(const Derivatives& derivatives, Adjoint::Of of, int index) {
  std::vector<const Adjoint*> reads;
  for (const HookDerivatives* hook : {&derivatives.score_mod, &derivatives.sink})
    for (const Adjoint& adjoint : hook->adjoints)
      if (adjoint.of == of && adjoint.index == index) reads.push_back(&adjoint);
  if (reads.empty() || of == Adjoint::Of::param) return {};
  GradientElements elements{.of_batch = has_index(reads, Builtin::b),
                            .of_head = has_index(reads, Builtin::h),
                            .of_row = has_index(reads, Builtin::q_idx)};
  elements.is_once =
      elements.of_row && has_index(reads, Builtin::kv_idx) && reads.size() == 1 && reads[0]->loops.empty();
  return elements;
}

}  // namespace fa
