// The passes of the baselines (docs/baselines.md).
#pragma once

#include <vector>

#include "compiler/emit/cuda/passes/passes.h"

namespace fa {

/// Of standard attention S, its softmax, and O (templates/common/standard/); of algorithm 1 all tiles, then O
/// (templates/common/flash1/).
std::vector<PrintedPass> print_baseline_passes(const CheckedSpec& spec, const Plan& plan);

}  // namespace fa
