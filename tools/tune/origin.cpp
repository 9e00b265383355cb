#include "tools/tune/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "runtime/build/device_target.h"
#include "runtime/tune/choice.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/plan_store.h"
#include "runtime/tune/shipped/tables.h"

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

/// The keys that `compile` would look for of what is remembered, and of what ships, the first first.
std::vector<TuneKey> keys_of(const Spec& spec, const Target& target, const Options& options,
                             const std::vector<TunedPlan>& stored, const std::vector<TunedPlan>& shipped) {
  // A key names NVRTC's version: where none is asked for it stays closed.
  if (stored.empty()) return keys_in_order({}, {}, shipped);
  if (target.is_host()) return {tune_key(spec, Device::host, target, options)};
  const TuneKey predicted = predicted_key(spec, target);
  std::vector<TuneKey> measured;
  if (is_here(target, options.cuda_device)) {
    measured.push_back(tune_key(spec, Device::cuda, target, options));
  } else {
    for (const TunedPlan& plan : stored) {
      TuneKey key = predicted;
      key.device = plan.key.device;
      if (is_of_target(plan.key, target) && key == plan.key) measured.push_back(key);
    }
  }
  return keys_in_order(measured, {predicted}, shipped);
}

/// The plan, or the plans by call, that were found.
PlanOrigin origin_of(const TunedChoice& found, const PlanTable& own) {
  PlanOrigin origin{.source = found.is_shipped     ? PlanSource::shipped
                              : found.is_predicted ? PlanSource::predicted
                                                   : PlanSource::measured,
                    .plan = found.plan,
                    .why = found.said,
                    .table = {}};
  if (found.known.empty()) {
    origin.table = single_plan({.plan = parse_plan(found.plan, {}), .why = found.said});
  } else {
    origin.table = refine(own, found.known);
    origin.plan = origin.table.back().choice.plan.print();
  }
  return origin;
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
    case PlanSource::shipped:
      return "shipped";
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
  if (options.tune == Tune::never)
    return own_plan("FA_TUNE=never: nothing that is remembered, or ships, counts");
  StoredPlans stored = open_plan_store(options.cache_dir).list();
  const std::string hash = spec_hash(spec);
  std::erase_if(stored.plans, [&](const TunedPlan& plan) { return plan.key.spec != hash; });
  std::string problem = stored.problem, shipped_problem;
  const std::vector<TunedPlan> shipped =
      target.is_host() ? std::vector<TunedPlan>() : shipped_plans(target.name, hash, shipped_problem);
  if (!shipped_problem.empty()) problem += (problem.empty() ? "" : "; ") + shipped_problem;
  const auto choose = [&] {
    const std::vector<TuneKey> keys = keys_of(spec, target, options, stored.plans, shipped);
    std::vector<TunedPlan> all = stored.plans;
    std::ranges::copy(shipped, std::back_inserter(all));
    const auto describe = [&](const TunedPlan& tuned) {
      const bool is_elsewhere =
          tuned.shipped.empty() && is_of_target(tuned.key, target) && !is_here(target, options.cuda_device);
      return describe_tuned(tuned) + (is_elsewhere ? ", there alone: " + tuned.key.device : "");
    };
    return choose_remembered(all, keys, spec.checked(), target, describe);
  };
  TunedChoice found;
  try {
    found = choose();
  } catch (const BuildError& error) {
    problem = fmt::format("it holds for an NVRTC, and there is none: {}", error.what());
    stored.plans.clear();
    found = choose();
  }
  if (!problem.empty())
    found.said += (found.said.empty() ? "" : "; ") + ("what is remembered is not used: " + problem);
  if (!found.plan.empty() || !found.known.empty()) return origin_of(found, own);
  if (!found.said.empty()) return own_plan(found.said);
  const bool may_time = target.is_host() || is_here(target, options.cuda_device);
  return own_plan(options.tune == Tune::once && may_time
                      ? "no other is remembered: FA_TUNE=once times some first"
                      : "no other is remembered");
}

}  // namespace fa::tools
