#include "runtime/tune/choice.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "compiler/schedule/plan.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/once.h"
#include "runtime/tune/plan_store.h"

namespace fa {
namespace {

/// Why a remembered plan cannot be built: another Facet may have had other rules.
std::string why_unusable(const TunedPlan& tuned, const CheckedSpec& spec, const Target& target) {
  try {
    return why_illegal(parse_plan(tuned.plan, {}), spec, target);
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

std::string describe(const TunedPlan& tuned) {
  return fmt::format("{:.2f}x the default plan's speed at {}, timed {:%Y-%m-%d}{}", tuned.gain, tuned.problem,
                     fmt::gmtime(static_cast<std::time_t>(tuned.date)),
                     tuned.finished ? "" : ", not to the end");
}

TunedChoice remembered(const CheckedSpec& spec, const Target& target, const TuneKey& key,
                       const PlanStore& store) {
  std::string problem;
  const std::optional<TunedPlan> tuned = store.find(key, problem);
  if (!problem.empty()) return {.plan = {}, .said = "not used: " + problem};
  if (!tuned) return {};
  if (const std::string why = why_unusable(*tuned, spec, target); !why.empty())
    return {.plan = {}, .said = fmt::format("not used: plan '{}': {}", tuned->plan, why)};
  return {.plan = tuned->plan, .said = describe(*tuned)};
}

}  // namespace

TunedChoice tuned_choice(const Spec& spec, Device device, const Target& target, const Options& options) {
  if (!options.plan.empty() || options.tune == Tune::never) return {};
  const PlanStore store = open_plan_store(options.cache_dir);
  const TuneKey key = tune_key(spec, device, target, options);
  TunedChoice choice = remembered(spec.checked(), target, key, store);
  if (options.tune != Tune::once || !choice.plan.empty()) return choice;
  return tune_once(spec, device, target, options, store);
}

}  // namespace fa
