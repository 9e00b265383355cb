#include "runtime/tune/choice.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "compiler/schedule/plan.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/once.h"
#include "runtime/tune/plan_store.h"

namespace fa {
namespace {

TunedChoice remembered(const CheckedSpec& spec, const Target& target, const std::vector<TuneKey>& keys,
                       const PlanStore& store) {
  std::string problem;
  const std::optional<TunedPlan> tuned = store.find_first(keys, problem);
  if (!problem.empty()) return {.plan = {}, .said = "not used: " + problem};
  if (!tuned) return {};
  if (const std::string why = why_unusable(*tuned, spec, target); !why.empty())
    return {.plan = {}, .said = fmt::format("not used: plan '{}': {}", tuned->plan, why)};
  return {.plan = tuned->plan, .said = describe_tuned(*tuned)};
}

}  // namespace

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
  std::vector<TuneKey> keys{tune_key(spec, device, target, options)};
  if (device == Device::cuda) keys.push_back(predicted_key(spec, target));
  TunedChoice choice = remembered(spec.checked(), target, keys, store);
  if (options.tune != Tune::once || !choice.plan.empty()) return choice;
  return tune_once(spec, device, target, options, store);
}

}  // namespace fa
