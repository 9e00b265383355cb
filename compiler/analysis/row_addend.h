// What an addend of score_mod has that no key changes: a term of the row or of the head. A softmax does not
// know what all of its row gains, so that kernels leave it out of every tile and add it to lse at the end
// (forgetting gates: Lin et al. 2025, F(q) - F(kv)).
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// Splits `addend`, a function with a hook's arguments: it keeps the terms that depend on kv_idx (0 where
/// there are none), and a new function beside it returns the sum of the others. Null, and nothing is changed,
/// where there are no others.
llvm::Function* split_row_addend(llvm::Function& addend);

}  // namespace fa
