// What kernels evaluate in place of score_mod: functions with a hook's arguments (compiler/ir/hook_ir.h) on
// the raw dot product s = q.k, in base 2 and with the scale folded in. The constants log2(e) and scale are
// pushed to where they cost least (the factor that depends on least).
#pragma once

#include "compiler/ir/module.h"

namespace fa {

/// All null where score_mod is the identity.
struct Logits {
  IrModule module;
  // Of a general score_mod: log2(e) * score_mod(scale * s).
  const llvm::Function* general = nullptr;  // float @logit(float %s, ...)
  // Of an affine one: logit = multiplier * s + addend (+ row_addend).
  const llvm::Function* multiplier = nullptr;  // float @logit_multiplier(...)
  const llvm::Function* addend = nullptr;      // float @logit_addend(...)
  // The terms of the addend that do not depend on kv_idx, where there are any; `addend` is without them.
  const llvm::Function* row_addend = nullptr;  // float @logit_row_addend(...)
  // c, where the addend is c * kv_idx + what does not depend on kv_idx.
  const llvm::Function* addend_slope = nullptr;  // float @logit_addend_slope(...)
};

}  // namespace fa
