#include "compiler/tune/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fa/error.h"

namespace fa {
namespace {

constexpr double kMargin = 0.02;  // what a predicted plan must be faster by
constexpr std::size_t kWorthMeasuring = 8, kMostUnusual = 3;

/// "207 registers (about 180 by the estimate), 2 CTAs on an SM"
std::string describe(const BuiltPlan& plan, int ctas, const CheckedSpec& spec) {
  return fmt::format("{} registers (about {} by the estimate), {} CTA{} on an SM{}", plan.built.registers,
                     register_estimate(plan.plan, spec), ctas, ctas == 1 ? "" : "s",
                     plan.built.has_costly_spills() ? ", and spills in its loops" : "");
}

}  // namespace

std::vector<Plan> plans_to_build(const CheckedSpec& spec, const Facts& facts, const Target& target) {
  std::vector<Plan> plans;
  for (const Choice& choice : rank_plans(spec, facts, target)) plans.push_back(choice.plan);
  std::stable_partition(plans.begin() + 1, plans.end(),
                        [&](const Plan& plan) { return is_preferable(plan, spec, facts, target); });
  return plans;
}

std::optional<Plan> relaxed(const Plan& plan, const AsBuilt& built) {
  if (!built.has_costly_spills() || plan.min_ctas < 2) return {};
  Plan result = plan;
  --result.min_ctas;
  return result;
}

Prediction rank_built(const std::vector<BuiltPlan>& plans, const CheckedSpec& spec, const Facts& facts,
                      const Target& target, const std::vector<ProblemSize>& sizes,
                      const ShareOfTiles& share_of_tiles) {
  const auto rank = [&](std::size_t of) {
    const auto& [plan, built] = plans[of];
    RankedPlan ranked{.of = of, .ms = 0, .ctas = std::max(1, ctas_as_built(plan, built, target))};
    double sum = 0;
    for (const ProblemSize& size : sizes)
      sum += std::log(predict(plan, built, spec, facts, target, size, share_of_tiles(plan, size)).ms);
    ranked.ms = std::exp(sum / static_cast<double>(sizes.size()));
    return ranked;
  };
  const bool all_spill =
      std::ranges::all_of(plans, [](const BuiltPlan& one) { return one.built.has_costly_spills(); });
  Prediction prediction;
  for (std::size_t of = 0; of < plans.size(); ++of) {
    if (plans[of].built.has_costly_spills() && !all_spill) {
      ++prediction.dropped;
    } else {
      prediction.ranked.push_back(rank(of));
    }
  }
  std::ranges::stable_sort(prediction.ranked, {}, &RankedPlan::ms);

  const RankedPlan of_default = rank(0);
  prediction.best = of_default;
  const bool default_spills = plans.front().built.has_costly_spills() && !all_spill;
  prediction.why = default_spills
                       ? "the compiler's own choice: it spills in its loops, but the others promise less"
                       : "the compiler's own choice, which no built plan promises to beat";
  // Where only plans that the compiler would not consider do without spills, it is not known what is worse.
  const auto better = std::ranges::find_if(prediction.ranked, [&](const RankedPlan& one) {
    return one.of != 0 && is_preferable(plans[one.of].plan, spec, facts, target);
  });
  if (better == prediction.ranked.end()) return prediction;
  if (better->ms * (default_spills ? 1 : 1 + kMargin) >= of_default.ms) return prediction;
  prediction.best = *better;
  prediction.gain = of_default.ms / better->ms;
  prediction.why = fmt::format("as built it takes {}; the compiler's own choice takes {}",
                               describe(plans[better->of], better->ctas, spec),
                               describe(plans.front(), of_default.ctas, spec));
  return prediction;
}

std::vector<std::size_t> worth_measuring(const std::vector<BuiltPlan>& plans,
                                         const std::vector<RankedPlan>& ranked, const CheckedSpec& spec,
                                         const Facts& facts, const Target& target) {
  std::vector<std::size_t> chosen;
  std::size_t unusual = 0;
  for (const RankedPlan& one : ranked) {
    if (chosen.size() == kWorthMeasuring) break;
    if (!is_preferable(plans[one.of].plan, spec, facts, target) && unusual++ >= kMostUnusual) continue;
    chosen.push_back(one.of);
  }
  return chosen;
}

TimesToBeat times_to_beat(const std::vector<BuiltPlan>& plans, const std::vector<RankedPlan>& ranked,
                          const CheckedSpec& spec, const Facts& facts, const Target& target) {
  TimesToBeat times;
  // One plan without spills would take the place of all of these.
  if (std::ranges::all_of(plans, [](const BuiltPlan& one) { return one.built.has_costly_spills(); }))
    return times;
  std::size_t usual = 0, unusual = 0;
  for (const RankedPlan& one : ranked) {
    const bool is_usual = is_preferable(plans[one.of].plan, spec, facts, target);
    if (!is_usual && unusual == kMostUnusual) continue;
    ++(is_usual ? usual : unusual);
    if (unusual == kMostUnusual && !is_usual) times.unusual = one.ms;
    if (usual + unusual == kWorthMeasuring) {
      times.usual = one.ms;
      times.unusual = std::min(times.unusual, one.ms);
      break;
    }
  }
  return times;
}

bool is_worth_building(const Plan& plan, const TimesToBeat& times, const CheckedSpec& spec,
                       const Facts& facts, const Target& target, const ProblemSize& size,
                       const ShareOfTiles& share_of_tiles) {
  const double to_beat = is_preferable(plan, spec, facts, target) ? times.usual : times.unusual;
  if (to_beat == std::numeric_limits<double>::infinity()) return true;
  return least_ms_as_built(plan, spec, facts, target, size, share_of_tiles(plan, size)) < to_beat;
}

std::vector<Plan> predicted_candidates(const Plan& default_plan, const std::vector<std::string>& named,
                                       const CheckedSpec& spec, const Target& target) {
  std::vector<Plan> plans{default_plan};
  for (const std::string& text : named) {
    try {
      const Plan plan = parse_plan(text, {});
      if (!why_illegal(plan, spec, target).empty() || std::ranges::find(plans, plan) != plans.end()) continue;
      plans.push_back(plan);
    } catch (const ArgumentError&) {
      // A line of another Facet, whose plans have other fields: the others are still worth it.
    }
  }
  return plans;
}

}  // namespace fa
