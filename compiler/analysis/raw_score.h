// Functions of the scaled score as functions of the raw dot product, which kernels have.
#pragma once

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace fa {

/// A copy in `module` of a function with a hook's arguments, whose score is then s = q . k: the scale is folded in where it
/// costs least, just as in Logits::general. So what a score_mod and its derivative have in common stays the same code.
llvm::Function* of_raw_score(const llvm::Function& function, llvm::Module& module, const char* name);

}  // namespace fa
