// How long the machine code of a part of a hook is, in instructions: a model, good to a factor of two, by
// which kernels decide how often the part may be there. A tile has up to 128 elements a thread, and what
// NVRTC needs for a kernel grows with its instructions.
#pragma once

#include "compiler/analysis/region.h"

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

/// Of one item; a loop counts as often as it is unrolled. `fast`: approximate functions stand where the
/// instruction allows them (16-bit data).
int code_size(const Region::Item& item, bool fast);
int code_size(const llvm::Function& function, bool fast);

/// What one call runs, every turn of its loops counted.
int instructions_run(const llvm::Function& function, bool fast);

/// Whether a loop stays a loop: NVRTC unrolls short ones, and would unroll long ones as well.
bool stays_rolled(const Loop& loop, bool fast);

}  // namespace fa
