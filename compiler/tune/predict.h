// Which plan is fastest on a GPU that is not here: by the cost model and what the built kernels really take.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/cost.h"
#include "compiler/tune/candidates.h"

namespace fa {

/// The order in which plans should be built: the compiler's own choice, those that it would consider, then
/// all others, each part by predicted time. A tile comes once, with the model's min_ctas.
std::vector<Plan> plans_to_build(const CheckedSpec& spec, const Facts& facts, const Target& target);

/// Where a plan spills at the price of its time and fewer CTAs on an SM would leave it more registers: the
/// plan for one CTA less.
std::optional<Plan> relaxed(const Plan& plan, const AsBuilt& built);

struct BuiltPlan {
  Plan plan;
  AsBuilt built;
};

struct RankedPlan {
  std::size_t of = 0;  // the BuiltPlan, by index
  double ms = 0;       // predicted; of several sizes the geometric mean
  int ctas = 0;        // on an SM
};

struct Prediction {
  RankedPlan best;
  std::string why;                 // best is the compiler's own choice or another one
  double gain = 1;                 // the default's time over the best plan's; 1 where it is the best
  std::vector<RankedPlan> ranked;  // those that are worth measuring, the most promising first
  std::size_t dropped = 0;         // plans that spill at the price of their time
};

/// `plans` begins with the default, the compiler's own choice; there is at least that one. Another plan
/// replaces it only where the compiler would consider that plan and its predicted time is shorter by more than
/// 2%, which the model is no better than; by anything where the default spills in its loops.
Prediction rank_built(const std::vector<BuiltPlan>& plans, const CheckedSpec& spec, const Facts& facts,
                      const Target& target, const std::vector<ProblemSize>& sizes,
                      const ShareOfTiles& share_of_tiles);

/// The plans that a machine with the GPU should measure: the most promising 8 of `ranked`, at most 3 of them
/// such as the compiler would not consider by itself. What the model knows least about has a chance, and no
/// more.
std::vector<std::size_t> worth_measuring(const std::vector<BuiltPlan>& plans,
                                         const std::vector<RankedPlan>& ranked, const CheckedSpec& spec,
                                         const Facts& facts, const Target& target);

/// What a plan that has not been built must be faster than, by the model, to be among those worth measuring: the last
/// of them, and for one that the compiler would not consider the last such one. Infinite while there is room for more.
struct TimesToBeat {
  double usual = std::numeric_limits<double>::infinity();
  double unusual = std::numeric_limits<double>::infinity();
};
TimesToBeat times_to_beat(const std::vector<BuiltPlan>& plans, const std::vector<RankedPlan>& ranked,
                          const CheckedSpec& spec, const Facts& facts, const Target& target);

/// Whether a plan that has not been built could be among those worth measuring at `size`, if ptxas made the best of it
/// that the model can think of (least_ms_as_built). Where it could not, nothing that a prediction finds depends on it.
bool is_worth_building(const Plan& plan, const TimesToBeat& times, const CheckedSpec& spec,
                       const Facts& facts, const Target& target, const ProblemSize& size,
                       const ShareOfTiles& share_of_tiles);

/// What is left to time where a prediction names the plans (Plan::print) that are worth it: the default and
/// those of them that are legal here.
std::vector<Plan> predicted_candidates(const Plan& default_plan, const std::vector<std::string>& named,
                                       const CheckedSpec& spec, const Target& target);

}  // namespace fa
