// Which rows, or columns, of a tile are alike to a mask, so that one of them shows the others: where ids come
// in runs and blocks, a tile of 8192 elements has a handful that differ.
#pragma once

#include <vector>

#include "compiler/ir/signature.h"

namespace llvm {
class Function;
class Value;
}  // namespace llvm

namespace fa {

class MaskSides;

/// Rows are alike that lie in the same block, take the same value of every summary, and see the same of
/// `conditions`; likewise columns.
struct AlikeLines {
  int block = 1;
  /// Conditions of both sides or of indices themselves, which a tile may decide as a whole.
  std::vector<llvm::Value*> conditions;
  bool is_known = false;   // else no two lines are alike
  bool by_blocks = false;  // summaries see a line through its block alone

  /// Whether blocks and summaries say it all.
  bool always() const { return is_known && conditions.empty(); }
};

/// What `mask` sees of `index`, q_idx or kv_idx. `sides`: its summaries, null where it
/// has loops.
AlikeLines find_alike_lines(const llvm::Function& mask, HookArgKind index, const MaskSides* sides);

}  // namespace fa
