// Tune::once: a short search when a kernel is first compiled, on tensors that are made up.
#pragma once

#include "runtime/tune/choice.h"
#include "runtime/tune/plan_store.h"

namespace fa {

/// On the host, for specs without captured tensors: what those hold decides which tiles a mask leaves, and
/// made-up
/// ones would choose a plan for another mask. Elsewhere the result says so and names no plan.
TunedChoice tune_once(const Spec& spec, Device device, const Target& target, const Options& options,
                      const PlanStore& store);

}  // namespace fa
