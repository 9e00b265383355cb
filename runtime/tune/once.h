// Tune::once: a short search when a kernel is first compiled, on tensors that are made up.
#pragma once

#include "runtime/tune/choice.h"
#include "runtime/tune/plan_store.h"

namespace fa {

/// Times the few most promising plans for at most Options::tune_seconds and remembers the best: on the host for calls of every
/// length, on a GPU for calls like the one that was timed. Not for masks that read tensors, whose contents decide which tiles
/// are left: made-up ones would choose a plan for another mask. `said` tells what was timed, or why nothing was.
TunedChoice tune_once(const Spec& spec, Device device, const Target& target, const Options& options,
                      const PlanStore& store);

}  // namespace fa
