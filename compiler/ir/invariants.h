// Moves computations out of loops in which they do not change.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// Moves every instruction of a loop whose operands all come from outside it to the block before the loop. A
/// loop is one unit of work for the stages after this one (compiler/analysis/region.h): what a row or a head
/// alone decides must not stand inside one that depends on more. This adds no computation, as every loop runs
/// at least once. The function is one of compiler/ir/lower/lower: counted loops in program order, and nothing
/// that writes memory.
void hoist_invariants(llvm::Function& function);

}  // namespace fa
