// Addends of score_mod that grow with kv_idx by one number a head, as linear position biases do (ALiBi, Press
// et al. 2022). A softmax does not know what all of its row gains, so that kernels need the slope alone: one
// multiply-add an element, and the rest once a row for its log-sum-exp.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// A new function beside `addend` and with its arguments, which are a hook's. It returns c where
/// addend = c * kv_idx + rest in real numbers and neither c nor the rest depends on kv_idx, nor c on q_idx.
/// Null where that is not proved, or where c is 0.
llvm::Function* derive_slope(llvm::Function& addend);

}  // namespace fa
