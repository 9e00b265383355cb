// Values that depend on q_idx and kv_idx through q_idx - kv_idx alone, as relative position biases and
// windows do: kernels evaluate those once a diagonal of a tile instead of once an element.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// Whether what `function`, a hook or a part of one, returns is the same for all (q_idx, kv_idx) of the same
/// difference and does depend on it; then it is what (q_idx, kv_idx) = (difference, 0) gives, even where the
/// difference is negative. Proved, or false.
bool is_relative(const llvm::Function& function);

}  // namespace fa
