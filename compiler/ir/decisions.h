// Floats that decide something: a comparison, a rounding to a whole number, an index. A decision jumps: a
// difference in the last bit can mean another bucket of a bias or another bit of a mask. Such floats are
// computed as IEEE f32 says, one rounding an operation, on every target; all others may take the kernel's
// short cuts.
#pragma once

namespace llvm {
class CallBase;
class Function;
}  // namespace llvm

namespace fa {

/// Whether the call rounds its float argument to a whole number: floor and the like, and i32(x).
bool rounds_to_whole(const llvm::CallBase& call);

/// Removes the `contract` flag, which allows every short cut (functions.h), from everything that a decision
/// of `function` is computed from. What depends on the score keeps it: each target's tensor cores add the
/// score's products in an order of their own, so that the last bits differ anyway.
void keep_decisions_exact(llvm::Function& function);

}  // namespace fa
