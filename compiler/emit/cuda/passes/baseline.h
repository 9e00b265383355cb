// The passes of the baselines (docs/baselines.md).
#pragma once

#include <vector>

#include "compiler/emit/cuda/passes/passes.h"

namespace fa {

/// S, its softmax, and O (templates/common/standard/).
std::vector<PrintedPass> print_standard_passes(const CheckedSpec& spec, const Plan& plan);

}  // namespace fa
