// 64-bit integers done in 32 bits, where every value fits. Tile classes are derived in 64 bits, so that no
// bound wraps around; most bounds of most masks stay small. GPUs have no 64-bit integer units: an addition is
// two instructions, a division about a hundred, and all of them are there to be compiled too.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// Rewrites a function whose blocks stand in the order they run in. Arguments keep the callers' contract of
/// hook_ir.h: q_lo, q_hi, kv_lo, kv_hi and idx are indices, lengths and counts are 1 to 2^24. `simplify`
/// removes what is no longer used.
void narrow_integers(llvm::Function& function);

}  // namespace fa
