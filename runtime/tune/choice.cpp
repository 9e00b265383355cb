#include "runtime/tune/choice.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compiler/schedule/plan.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/once.h"
#include "runtime/tune/plan_store.h"

namespace fa {
namespace {

TunedChoice not_used(const TunedPlan& tuned, const std::string& why) {
  return {.plan = {}, .said = fmt::format("not used: plan '{}': {}", tuned.plan, why)};
}

/// Of plans that were found at one size each.
TunedChoice known_plans(std::vector<const TunedPlan*> plans, const CheckedSpec& spec, const Target& target,
                        const std::function<std::string(const TunedPlan&)>& describe) {
  std::ranges::reverse(plans);  // of those of one date the one that was added last is the latest
  std::ranges::stable_sort(plans, std::greater<>(), &TunedPlan::date);
  TunedChoice choice;
  choice.is_predicted = std::ranges::all_of(plans, &TunedPlan::predicted);
  TunedChoice refused;
  for (const TunedPlan* const tuned : plans) {
    if (const std::string why = why_unusable(*tuned, spec, target); !why.empty()) {
      refused = not_used(*tuned, why);
      continue;
    }
    const std::string said = describe(*tuned);
    choice.known.push_back({.size = *tuned->size,
                            .choice = {.plan = parse_plan(tuned->plan, {}), .why = said},
                            .is_measured = !tuned->predicted});
    choice.said += (choice.said.empty() ? "" : "; ") + said;
  }
  return choice.known.empty() ? refused : choice;
}

}  // namespace

TunedChoice choose_remembered(const std::vector<TunedPlan>& plans, const std::vector<TuneKey>& keys,
                              const CheckedSpec& spec, const Target& target,
                              const std::function<std::string(const TunedPlan&)>& describe) {
  const TunedPlan* const chosen = choose_first_tuned(plans, keys);
  if (chosen == nullptr) return {};
  if (chosen->size && !target.is_host()) {
    std::vector<const TunedPlan*> of_sizes;
    for (const TunedPlan& plan : plans)
      if (plan.size && std::ranges::find(keys, plan.key) != keys.end()) of_sizes.push_back(&plan);
    return known_plans(std::move(of_sizes), spec, target, describe);
  }
  if (const std::string why = why_unusable(*chosen, spec, target); !why.empty())
    return not_used(*chosen, why);
  return {.plan = chosen->plan, .said = describe(*chosen), .is_predicted = chosen->predicted};
}

std::string why_unusable(const TunedPlan& tuned, const CheckedSpec& spec, const Target& target) {
  try {
    return why_illegal(parse_plan(tuned.plan, {}), spec, target);
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

std::string describe_tuned(const TunedPlan& tuned) {
  return fmt::format("{}{:.2f}x the default plan's speed at {}, {} {:%Y-%m-%d}{}",
                     tuned.predicted ? "predicted, not timed: " : "", tuned.gain, tuned.problem,
                     tuned.predicted ? fmt::format("from {} built plans on", tuned.timed) : "timed",
                     fmt::gmtime(static_cast<std::time_t>(tuned.date)),
                     tuned.finished ? "" : ", not to the end");
}

TunedChoice tuned_choice(const Spec& spec, Device device, const Target& target, const Options& options) {
  if (!options.plan.empty() || options.tune == Tune::never) return {};
  const PlanStore store = open_plan_store(options.cache_dir);
  std::string problem;
  const std::vector<TunedPlan> plans = store.of_spec(spec_hash(spec), problem);
  std::vector<TuneKey> keys;
  // A GPU's keys name NVRTC's version, and to load NVRTC takes longer than to load a kernel from the cache.
  if (!plans.empty()) {
    keys.push_back(tune_key(spec, device, target, options));
    if (device == Device::cuda) keys.push_back(predicted_key(spec, target));
  }
  TunedChoice choice = problem.empty() ? choose_remembered(plans, keys, spec.checked(), target)
                                       : TunedChoice{.plan = {}, .said = "not used: " + problem};
  if (options.tune != Tune::once || !choice.plan.empty() || !choice.known.empty()) return choice;
  return tune_once(spec, device, target, options, store);
}

}  // namespace fa
