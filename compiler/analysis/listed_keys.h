// Masks in which a row lists keys: `any(d < 12: ancestors[q_idx, d] == kv_idx)`. Asked of each element that is a comparison a
// listed key; a kernel asks once a row and 32 keys instead, which of these the row lists.
#pragma once

#include "compiler/ir/module.h"

namespace fa {

struct HookIr;

/// Functions with a hook's arguments; all null where the mask has no such list, or a short one.
struct ListedKeys {
  IrModule module;
  const llvm::Function* words =
      nullptr;  // i32 @listed_keys(...): bit i: whether row q_idx lists key kv_idx + i
  const llvm::Function* if_listed = nullptr;  // i1 @mask_if_listed(...): the mask of a key that the row lists
  const llvm::Function* if_not = nullptr;     // i1 @mask_if_not_listed(...): of any other key
};

/// `hooks` has a mask.
ListedKeys find_listed_keys(const HookIr& hooks);

}  // namespace fa
