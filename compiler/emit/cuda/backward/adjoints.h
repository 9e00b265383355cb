// Prints the adjoints of params and captured tensors as structs that backward kernels add up
// (templates/common/backward/derivatives.cuh is the contract). Included by .cpp files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/derive/derive.h"
#include "compiler/ir/lower/part.h"
#include "compiler/schedule/backward_plan.h"

namespace fa {

struct PrintedAdjoints {
  std::string functions;  // and the structs
  std::string list;       // "AdjointList<Adjoint0, Adjoint1>"
};

/// `prefix` of the structs' names: "Adjoint". `lowering` makes functions of what adjoints ask about the call; its
/// module must outlive the text's use of exact functions.
PrintedAdjoints print_adjoints(const CheckedSpec& spec, const HookIr& hooks,
                               const std::vector<Adjoint>& adjoints, std::string_view prefix,
                               PartLowering& lowering);

/// What the plan has to know of them, and of the mask.
BackwardNeeds needs_of(const std::vector<Adjoint>& adjoints, const TileClasses& classes);

}  // namespace fa
