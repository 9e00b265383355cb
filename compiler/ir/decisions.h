// Floats that decide something: a comparison, a rounding to a whole number, an index. What they decide jumps,
// so that a last bit more or less is another bucket of a bias or another bit of a mask. Such floats are
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

/// Takes the `contract` flag, which stands for every short cut (functions.h), from all that a decision of
/// `function` is computed from. What depends on the score keeps it: tensor cores add the score's products in
/// an order of their own, so that no target could repeat another's last bit.
void keep_decisions_exact(llvm::Function& function);

}  // namespace fa
