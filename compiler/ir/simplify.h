// Simplifies a hook. The pass list is short, because lowering leaves little to do and both back ends optimise
// again:
//
//   hoist_invariants  moves out of loops what does not change in them
//   early-cse         folds constants and ranges (InstSimplify), shares equal values and loads, removes what
//                     is unused
//
// instcombine and gvn are left out on purpose. They would undo what lowering arranges for the row / column
// split (one sitofp of a difference in place of a difference of sitofps, one wide compare in place of two)
// and widen the set of instructions that every later stage has to know (functions.h lists it; simplify keeps
// to it).
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// Throws InternalError, with `pass` and the IR, where LLVM's verifier refuses the function.
void verify(const llvm::Function& function, const char* pass);

/// Simplifies a hook, or what was derived from one, and verifies it.
void simplify(llvm::Function& function);

/// The same without hoist_invariants, for functions that are not hooks: they write memory, or their loops may
/// not run at all.
void simplify_in_place(llvm::Function& function);

}  // namespace fa
