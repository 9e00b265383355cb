// Whether a mask divides a sequence into segments by a table, as masks of packed documents do: how long they are is not known
// before the table is, but a row keeps keys of one of them alone.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// Whether `mask_mod` keeps only pairs for which a number that a table holds for the query equals one that a table holds for
/// the key: such an equality is a condition of its own, beside others that must hold as well.
bool keeps_segments(const llvm::Function& mask_mod);

}  // namespace fa
