// The cost model against measured times: what its choice costs beside the best plan that was measured. A
// change of the model may choose another plan; it fails here where that plan is known to be slower, or where
// the model no longer sees that the fastest plan is fast.
#include <algorithm>
#include <span>
#include <vector>

#include "compiler/schedule/plan.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/measured_plans.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;
using test::kPlanTimes;
using test::PlanTime;

namespace {

/// How much longer than the best measured plan a choice may take.
constexpr double kMostRegret = 0.03;
/// How much slower than its own choice the model may think the best measured plan, where nobody measured the
/// choice.
constexpr double kMostDisbelief = 0.05;

using Problem = std::span<const PlanTime>;

bool is_sm90(const PlanTime& row) { return row.plan.starts_with("sm90"); }

std::vector<Problem> problems() {
  std::vector<Problem> result;
  const auto same = [](const PlanTime& a, const PlanTime& b) {
    return a.target == b.target && is_sm90(a) == is_sm90(b) && a.head_dim == b.head_dim &&
           a.dropout == b.dropout && a.mask == b.mask;
  };
  for (auto begin = kPlanTimes.begin(); begin != kPlanTimes.end();) {
    const auto end =
        std::find_if_not(begin, kPlanTimes.end(), [&](const PlanTime& row) { return same(row, *begin); });
    result.emplace_back(begin, end);
    begin = end;
  }
  return result;
}

struct Model {
  explicit Model(const PlanTime& problem)
      : spec(problem.dropout ? with_dropout(plain_spec(problem.head_dim)) : plain_spec(problem.head_dim)),
        target(is_sm90(problem) ? find_target(problem.target) : with_sm80_alone(problem.target)) {
    if (problem.mask) facts = masked();
    facts.mask_is_relative = problem.mask;
    if (problem.mask) facts.mask_band = Band{.before = Band::kUnbounded, .after = 0};
  }
  /// Where two stages were not timed, the best of the plans that have one.
  Choice choice(Problem problem) const {
    const auto has_one = [](const PlanTime& row) { return row.plan.ends_with("stages=1"); };
    if (!std::ranges::all_of(problem, has_one)) return choose(spec, facts, target);
    std::vector<Choice> choices;
    for (const Plan& plan : legal_plans(spec, target))
      if (plan.stages == 1 && is_preferable(plan, spec, facts, target))
        choices.push_back(forced(plan.print()));
    return *std::ranges::min_element(choices, {}, &Choice::predicted_ms);
  }
  Choice forced(std::string_view plan) const { return choose_forced(spec, facts, target, plan); }
  bool is_tile_of(const Plan& plan, std::string_view text) const {
    return parse_plan(text, plan) == plan;  // min_ctas stays what it is
  }

  CheckedSpec spec;
  Target target;
  Facts facts;
};

const PlanTime& best_of(Problem problem) {
  return *std::min_element(problem.begin(), problem.end(),
                           [](const PlanTime& a, const PlanTime& b) { return a.time < b.time; });
}

}  // namespace

TEST_CASE("the chosen plan is at most 3% slower than the best measured one", "[schedule]") {
  int measured = 0;
  for (const Problem problem : problems()) {
    const PlanTime& best = best_of(problem);
    const Model model(best);
    const Choice choice = model.choice(problem);
    CAPTURE(best.target, best.head_dim, best.dropout, best.mask, best.plan, choice.plan.print());
    const auto row = std::find_if(problem.begin(), problem.end(), [&](const PlanTime& candidate) {
      return model.is_tile_of(choice.plan, candidate.plan);
    });
    if (row != problem.end()) {
      ++measured;
      CHECK(row->time <= (1 + kMostRegret) * best.time);
    } else {
      CHECK(model.forced(best.plan).predicted_ms <= (1 + kMostDisbelief) * choice.predicted_ms);
    }
  }
  INFO("most choices must be plans whose time is known: measure new ones by `facet bench --plans`");
  CHECK(measured >= static_cast<int>(problems().size()) * 3 / 4);
}

TEST_CASE("of two measured plans the model prefers the faster one", "[schedule]") {
  constexpr double kClear = 1.1;  // what differs by less may be ranked either way
  for (const Problem problem : problems()) {
    const Model model(problem.front());
    for (const PlanTime& fast : problem)
      for (const PlanTime& slow : problem) {
        if (slow.time < kClear * fast.time) continue;
        CAPTURE(fast.target, fast.head_dim, fast.plan, slow.plan);
        CHECK(model.forced(fast.plan).predicted_ms < model.forced(slow.plan).predicted_ms);
      }
  }
}

TEST_CASE("a chosen plan holds as many CTAs on an SM as the fastest ones did", "[schedule]") {
  // FlashAttention-2's tables and the H200 alike: two CTAs of four warps, or one of eight; of warpgroups two or three.
  for (const Problem problem : problems()) {
    const Model model(problem.front());
    const Plan plan = model.choice(problem).plan;
    CAPTURE(problem.front().target, problem.front().head_dim, plan.print());
    const int warps = plan.min_ctas * plan.warps;
    CHECK((warps == 8 || (plan.family == Family::sm90 && warps == 12)));
  }
}
