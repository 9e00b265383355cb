// What Options::tune asks for: the plan that `compile` should build, by what is remembered or by timing now.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/schedule/buckets/plan_table.h"
#include "compiler/target/target.h"
#include "fa/kernel.h"
#include "runtime/tune/record.h"

namespace fa {

struct TunedChoice {
  std::string plan;  // as Plan::print says it, for every call; empty: the compiler's own choice stands
  std::vector<KnownPlan> known = {};  // plans that were found at one size each, the latest first
  std::string said;                   // CompileTimes::tuned
  bool is_predicted = false;          // nothing of it was timed
  bool is_shipped = false;            // all of it comes from a table that ships with Facet
  double milliseconds = 0;            // of timing
};

/// Nothing where options name a plan or say never. Options are resolved; the device is cuda or host. Throws
/// what
/// `compile` throws only for Tune::once, whose kernels it compiles.
TunedChoice tuned_choice(const Spec& spec, Device device, const Target& target, const Options& options);

/// Why a remembered plan (Plan::print) cannot be built, or an empty string: another Facet may have had other rules.
std::string why_unusable(const std::string& plan, const CheckedSpec& spec, const Target& target);

/// "1.08x the default plan's speed at B1 H8 N1024, timed 2026-11-23"; of a predicted one, that it is.
std::string describe_tuned(const TunedPlan& tuned);

/// The keys by which a plan is chosen, the first first: what was measured here, then what was measured elsewhere and
/// ships, then the same of what was predicted. A measurement on the machine itself knows most, a prediction least.
std::vector<TuneKey> keys_in_order(const std::vector<TuneKey>& measured,
                                   const std::vector<TuneKey>& predicted,
                                   const std::vector<TunedPlan>& shipped);

/// The same as tuned_choice by what is remembered of this spec, or ships, under one of `keys`: plans of the first key
/// with some come first. A plan that cannot be built any more is passed over, and said. `describe` says in words what was
/// found.
TunedChoice choose_remembered(const std::vector<TunedPlan>& plans, const std::vector<TuneKey>& keys,
                              const CheckedSpec& spec, const Target& target,
                              const std::function<std::string(const TunedPlan&)>& describe = describe_tuned);

}  // namespace fa
