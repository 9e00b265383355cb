#include "runtime/tune/choice.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "compiler/schedule/plan.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/once.h"
#include "runtime/tune/plan_store.h"
#include "runtime/tune/shipped/tables.h"

namespace fa {
namespace {

constexpr std::size_t kShortCommit = 12;

/// "; " between what is said of several plans.
void say(std::string& said, const std::string& more) { said += (said.empty() ? "" : "; ") + more; }

/// Whether a line that ships bounds the calls of other lines: there the compiler's own choice was the best. It may have become
/// another one since.
bool is_own_choice(const TunedPlan& tuned) {
  return !tuned.shipped.empty() && tuned.plan == tuned.default_plan;
}

/// Those under one of the keys that can be built. `refused`: what cannot, and why.
std::vector<TunedPlan> usable_plans(const std::vector<TunedPlan>& plans, const std::vector<TuneKey>& keys,
                                    const CheckedSpec& spec, const Target& target, std::string& refused) {
  std::vector<TunedPlan> usable;
  for (const TunedPlan& plan : plans) {
    if (std::ranges::find(keys, plan.key) == keys.end()) continue;
    if (const std::string why = is_own_choice(plan) ? "" : why_unusable(plan.plan, spec, target); why.empty())
      usable.push_back(plan);
    else
      say(refused,
          fmt::format("not used: {}plan '{}': {}", plan.shipped.empty() ? "" : "shipped ", plan.plan, why));
  }
  return usable;
}

/// Of plans that were found at one size each.
TunedChoice known_plans(std::vector<TunedPlan> plans,
                        const std::function<std::string(const TunedPlan&)>& describe) {
  std::ranges::reverse(plans);  // of those of one date the one that was added last is the latest
  std::ranges::stable_sort(plans, std::greater<>(), &TunedPlan::date);
  // What was found here comes first; of the rest `refine` takes measurements before predictions.
  std::ranges::stable_partition(plans, &std::string::empty, &TunedPlan::shipped);
  TunedChoice choice;
  choice.is_predicted = std::ranges::all_of(plans, &TunedPlan::predicted);
  choice.is_shipped = std::ranges::none_of(plans, &std::string::empty, &TunedPlan::shipped);
  for (const TunedPlan& tuned : plans) {
    const std::string said = describe(tuned);
    const bool is_own = is_own_choice(tuned);
    choice.known.push_back({.size = *tuned.size,
                            .choice = {.plan = is_own ? Plan() : parse_plan(tuned.plan, {}), .why = said},
                            .is_measured = !tuned.predicted,
                            .is_own = is_own});
    say(choice.said, said);
  }
  return choice;
}

}  // namespace

std::vector<TuneKey> keys_in_order(const std::vector<TuneKey>& measured,
                                   const std::vector<TuneKey>& predicted,
                                   const std::vector<TunedPlan>& shipped) {
  std::vector<TuneKey> keys;
  for (const bool is_predicted : {false, true}) {
    std::ranges::copy(is_predicted ? predicted : measured, std::back_inserter(keys));
    for (const TunedPlan& plan : shipped)
      if (plan.predicted == is_predicted) keys.push_back(plan.key);
  }
  return keys;
}

TunedChoice choose_remembered(const std::vector<TunedPlan>& plans, const std::vector<TuneKey>& keys,
                              const CheckedSpec& spec, const Target& target,
                              const std::function<std::string(const TunedPlan&)>& describe) {
  std::string refused;
  std::vector<TunedPlan> usable = usable_plans(plans, keys, spec, target, refused);
  const TunedPlan* const chosen = choose_first_tuned(usable, keys);
  TunedChoice choice;
  if (chosen != nullptr && chosen->size && !target.is_host()) {
    std::erase_if(usable, [](const TunedPlan& plan) { return !plan.size; });
    choice = known_plans(std::move(usable), describe);
  } else if (chosen != nullptr) {
    choice = {.plan = chosen->plan, .said = describe(*chosen), .is_predicted = chosen->predicted};
  }
  if (!refused.empty()) say(choice.said, refused);
  return choice;
}

std::string why_unusable(const std::string& plan, const CheckedSpec& spec, const Target& target) {
  try {
    return why_illegal(parse_plan(plan, {}), spec, target);
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

std::string describe_tuned(const TunedPlan& tuned) {
  const std::string what = is_own_choice(tuned) ? "the compiler's own choice"
                                                : fmt::format("{:.2f}x the default plan's speed", tuned.gain);
  std::string said = fmt::format(
      "{}{} at {}, {} {:%Y-%m-%d}{}", tuned.predicted ? "predicted, not timed: " : "", what, tuned.problem,
      tuned.predicted ? fmt::format("from {} built plans on", tuned.timed) : "timed",
      fmt::gmtime(static_cast<std::time_t>(tuned.date)), tuned.finished ? "" : ", not to the end");
  if (!tuned.shipped.empty())
    said += fmt::format(", shipped with Facet (commit {}, {}{})", tuned.shipped.substr(0, kShortCommit),
                        tuned.key.compiler, tuned.predicted ? "" : ", " + tuned.key.device);
  return said;
}

TunedChoice tuned_choice(const Spec& spec, Device device, const Target& target, const Options& options) {
  if (!options.plan.empty() || options.tune == Tune::never) return {};
  const PlanStore store = open_plan_store(options.cache_dir);
  const std::string hash = spec_hash(spec);
  std::string problem, shipped_problem;
  std::vector<TunedPlan> plans = store.of_spec(hash, problem);
  std::vector<TuneKey> measured, predicted;
  // A GPU's keys name NVRTC's version, and to load NVRTC takes longer than to load a kernel from the cache.
  if (!plans.empty()) {
    measured.push_back(tune_key(spec, device, target, options));
    if (device == Device::cuda) predicted.push_back(predicted_key(spec, target));
  }
  const std::vector<TunedPlan> shipped =
      device == Device::cuda ? shipped_plans(target.name, hash, shipped_problem) : std::vector<TunedPlan>();
  std::ranges::copy(shipped, std::back_inserter(plans));
  TunedChoice choice =
      choose_remembered(plans, keys_in_order(measured, predicted, shipped), spec.checked(), target);
  for (const std::string& why : {problem, shipped_problem})
    if (!why.empty()) say(choice.said, "not used: " + why);
  if (options.tune != Tune::once || !choice.plan.empty() || !choice.known.empty()) return choice;
  return tune_once(spec, device, target, options, store);
}

}  // namespace fa
