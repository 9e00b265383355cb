// The translation unit of a backward pass on a GPU.
#pragma once

#include "compiler/derive/derive.h"
#include "compiler/emit/cuda/source.h"
#include "compiler/schedule/backward/backward_plan.h"

namespace fa {

/// As emit_source. The passes take BackwardParams: what each row needs to know, then dK and dV, then dQ, with a
/// tile map before either walk where the mask has one.
Source emit_backward_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                            const TileClasses& classes, const ScoreClass& score_class, const HookCases* cases,
                            const Derivatives& derivatives, const BackwardPlan& plan, const Target& target);

}  // namespace fa
