#include "compiler/tune/candidates.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/schedule/cost.h"
#include "compiler/schedule/host/host_cost.h"
#include "compiler/schedule/host/host_plan.h"

namespace fa {
namespace {

/// What a search can change, as numbers.
using Fields = std::array<int, 6>;
constexpr std::size_t kTileKv = 1;  // among them
Fields fields_of(const Plan& plan) {
  return {plan.tile_q,
          plan.tile_kv,
          plan.warps,
          plan.stages,
          plan.q_in_registers ? 1 : 0,
          plan.search_first ? 1 : 0};
}

/// A search reaches them by its steps from plans that are among the fastest. More would not pay: search_first changes a
/// kernel's time by a few percent at most.
constexpr std::size_t kSearchedOtherwise = 16;

void add_other_searches(const CheckedSpec& spec, const Target& target, std::vector<Plan>& plans) {
  const std::size_t count = plans.size();
  for (std::size_t i = 0; i < count && plans.size() < count + kSearchedOtherwise; ++i) {
    Plan other = plans[i];
    other.search_first = !other.search_first;
    if (why_illegal(other, spec, target).empty()) plans.push_back(other);
  }
}

}  // namespace

std::vector<Plan> tuning_candidates(const CheckedSpec& spec, const Facts& facts, const Target& target,
                                    const ProblemSize& size, const ShareOfTiles& share_of_tiles) {
  std::vector<Plan> plans;
  for (const Choice& choice : rank_plans(spec, facts, target, size)) plans.push_back(choice.plan);
  // The tiles of a mask that reads tensors are known only to who has these, and a band may be as wide as a param says.
  if (share_of_tiles && facts.has_mask && (target.is_host() || !facts.mask_band)) {
    const TilesLeft tiles_left = [&](const Plan& plan) { return share_of_tiles(plan, size); };
    std::vector<std::pair<double, Plan>> timed;
    for (const Plan& plan : plans)
      timed.emplace_back(target.is_host()
                             ? predict_on_host(plan, spec, facts, host_cpu_of(target), tiles_left).total
                             : predict(plan, spec, facts, target, size, tiles_left(plan)).ms,
                         plan);
    std::ranges::stable_sort(timed.begin() + 1, timed.end(), {}, &std::pair<double, Plan>::first);
    std::ranges::transform(timed, plans.begin(), &std::pair<double, Plan>::second);
  }
  add_other_searches(spec, target, plans);
  return plans;
}

std::vector<std::size_t> plans_next_to(const std::vector<Plan>& plans, std::size_t of) {
  const Fields center = fields_of(plans[of]);
  // The nearest of each kind of step: the field, whether it grows, whether to a multiple of 64 columns.
  std::map<std::tuple<std::size_t, bool, bool>, std::size_t> nearest;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Fields fields = fields_of(plans[i]);
    std::size_t changed = 0, changes = 0;
    for (std::size_t field = 0; field < fields.size(); ++field) {
      if (fields[field] == center[field]) continue;
      changed = field;
      ++changes;
    }
    if (changes != 1) continue;
    const auto away = [&](std::size_t plan) {
      return std::abs(fields_of(plans[plan])[changed] - center[changed]);
    };
    const bool is_even = changed == kTileKv && fields[changed] % 64 == 0;
    for (const bool even : {false, true}) {
      if (even && !is_even) continue;
      const auto [slot, is_new] = nearest.try_emplace({changed, fields[changed] > center[changed], even}, i);
      if (!is_new && away(i) < away(slot->second)) slot->second = i;
    }
  }
  std::set<std::size_t> result;  // the most promising first
  for (const auto& [step, plan] : nearest) result.insert(plan);
  return {result.begin(), result.end()};
}

std::vector<std::size_t> first_of_kinds(const std::vector<Plan>& plans) {
  std::set<std::tuple<Family, int, int>> seen;
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (seen.emplace(plans[i].family, plans[i].tile_q, plans[i].warps).second) result.push_back(i);
  return result;
}

}  // namespace fa
