// Whether one of a backward plan's passes can run.
#pragma once

#include <string>

#include "compiler/schedule/backward/backward_plan.h"

namespace fa {

/// The most query rows of a tile: what row stats and sums of dQ are padded to (kRowsPadded of templates/backward_params.h).
constexpr int kMostQueryRows = 128;

/// Empty where the pass that sums dK and dV can run by the plan; else the reason.
std::string why_keys_illegal(const BackwardPlan& plan, const CheckedSpec& spec, const Target& target,
                             const BackwardNeeds& needs);
/// The same of the pass that sums dQ.
std::string why_queries_illegal(const BackwardPlan& plan, const CheckedSpec& spec, const Target& target);

}  // namespace fa
