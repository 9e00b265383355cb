// Prints the adjoints of params and captured tensors as structs that backward kernels add up
// (templates/common/backward/derivatives.cuh is the contract). Included by .cpp files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/derive/derive.h"
#include "compiler/ir/lower/part.h"
#include "compiler/program/pass.h"
#include "compiler/schedule/backward/backward_plan.h"

namespace fa {

struct PrintedAdjoints {
  std::string functions;  // and the structs
  std::string list;       // "AdjointList<Adjoint0, Adjoint1>"
};

/// Those of a hook. `prefix` of the structs' names: "Adjoint". `lowering` makes functions of what adjoints ask about
/// the call; its module must outlive the text's use of exact functions.
PrintedAdjoints print_adjoints(const CheckedSpec& spec, const HookIr& hooks, const Derivatives& derivatives,
                               const HookDerivatives& of, std::string_view prefix, bool deterministic,
                               PartLowering& lowering);

/// What the plan has to know of score_mod's and of the hooks.
BackwardNeeds needs_of(const CheckedSpec& spec, const Derivatives& derivatives, const Facts& facts,
                       bool deterministic);

/// Of a deterministic pass: the gradients that are summed exactly, params first.
std::vector<ExactGradient> exact_gradients(const Derivatives& derivatives);

}  // namespace fa
