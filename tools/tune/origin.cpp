#include "tools/tune/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/build/device_target.h"
#include "runtime/tune/choice.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/plan_store.h"

namespace fa::tools {
namespace {

/// The GPU of this machine, where it is one of `target`.
bool is_here(const Target& target, int ordinal) {
  try {
    return device_count() > ordinal && target_of(CudaDevice::get(ordinal).info()).name == target.name;
  } catch (const DeviceError&) {
    return false;  // no driver, no GPU
  }
}

/// The keys that `compile` would look for, the first first.
std::vector<TuneKey> keys_of(const Spec& spec, const Target& target, const Options& options,
                             const std::vector<TunedPlan>& plans) {
  if (target.is_host()) return {tune_key(spec, Device::host, target, options)};
  const TuneKey predicted = predicted_key(spec, target);
  std::vector<TuneKey> keys;
  if (is_here(target, options.cuda_device)) {
    keys.push_back(tune_key(spec, Device::cuda, target, options));
  } else {
    for (const TunedPlan& plan : plans) {
      TuneKey key = predicted;
      key.device = plan.key.device;
      if (is_of_target(plan.key, target) && key == plan.key) keys.push_back(key);
    }
  }
  keys.push_back(predicted);
  return keys;
}

}  // namespace

std::string_view plan_source_name(PlanSource source) {
  switch (source) {
    case PlanSource::compiler:
      return "compiler";
    case PlanSource::measured:
      return "measured";
    case PlanSource::predicted:
      return "predicted";
    case PlanSource::asked_for:
      return "asked for";
  }
  return "";
}

PlanOrigin origin_of_plan(const Spec& spec, const Target& target, const PlanTable& own,
                          const Options& options) {
  const std::string last_plan = own.back().choice.plan.print();
  if (!options.plan.empty())
    return {.source = PlanSource::asked_for,
            .plan = last_plan,
            .why = "asked for, whatever is remembered",
            .table = own};
  const auto own_plan = [&](std::string why) {
    return PlanOrigin{.source = PlanSource::compiler, .plan = last_plan, .why = std::move(why), .table = own};
  };
  if (options.tune == Tune::never) return own_plan("FA_TUNE=never: nothing that is remembered counts");
  StoredPlans stored = open_plan_store(options.cache_dir).list();
  if (!stored.problem.empty()) return own_plan("what is remembered is not used: " + stored.problem);
  const std::string hash = spec_hash(spec);
  std::erase_if(stored.plans, [&](const TunedPlan& plan) { return plan.key.spec != hash; });
  const char* const kNone = options.tune == Tune::once && target.is_host()
                                ? "no other is remembered: FA_TUNE=once times some first"
                                : "no other is remembered";
  if (stored.plans.empty())
    return own_plan(kNone);  // and NVRTC, whose version is part of a key, stays closed
  try {
    const std::vector<TuneKey> keys = keys_of(spec, target, options, stored.plans);
    const auto describe = [&](const TunedPlan& tuned) {
      const bool is_elsewhere = is_of_target(tuned.key, target) && !is_here(target, options.cuda_device);
      return describe_tuned(tuned) + (is_elsewhere ? ", there alone: " + tuned.key.device : "");
    };
    const TunedChoice found = choose_remembered(stored.plans, keys, spec.checked(), target, describe);
    if (found.plan.empty() && found.known.empty()) return own_plan(found.said.empty() ? kNone : found.said);
    const PlanSource source = found.is_predicted ? PlanSource::predicted : PlanSource::measured;
    if (found.known.empty()) {
      PlanTable table = single_plan({.plan = parse_plan(found.plan, {}), .why = found.said});
      return {.source = source, .plan = found.plan, .why = found.said, .table = std::move(table)};
    }
    PlanTable table = refine(own, found.known);
    std::string taken = table.back().choice.plan.print();
    return {.source = source, .plan = std::move(taken), .why = found.said, .table = std::move(table)};
  } catch (const BuildError& error) {
    return own_plan(
        fmt::format("what is remembered holds for an NVRTC, and there is none: {}", error.what()));
  }
}

}  // namespace fa::tools
