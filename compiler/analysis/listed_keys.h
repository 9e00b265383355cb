// Masks in which a row lists keys: `any(d < 12: ancestors[q_idx, d] == kv_idx)`. Evaluated for each element, that takes a
// comparison for each listed key. A kernel finds once for each row and 32 keys which of them the row lists.
#pragma once

#include "compiler/ir/module.h"

namespace fa {

struct HookIr;

/// Functions with a hook's arguments; all null where the mask has no such list, or a short one.
struct ListedKeys {
  IrModule module;
  // i32 @listed_keys(...): bit i: whether row q_idx lists key kv_idx + i.
  const llvm::Function* words = nullptr;
  const llvm::Function* if_listed = nullptr;  // i1 @mask_if_listed(...): the mask of a key that the row lists
  const llvm::Function* if_not = nullptr;     // i1 @mask_if_not_listed(...): of any other key
};

/// `hooks` has a mask.
ListedKeys find_listed_keys(const HookIr& hooks);

}  // namespace fa
