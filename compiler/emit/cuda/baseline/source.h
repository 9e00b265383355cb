// The translation unit of a baseline on a GPU (docs/baselines.md).
#pragma once

#include "compiler/emit/cuda/source.h"

namespace fa {

/// As emit_source, of a plan that is a baseline's. The passes take BaselineParams. They ask for no tile class: all tiles
/// are computed.
Source emit_baseline_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                            const HookCases* cases, const Plan& plan, const Target& target);

}  // namespace fa
