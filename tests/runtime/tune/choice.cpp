// What is remembered, as the plans that a compile takes.
#include "runtime/tune/choice.h"

#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

const TuneKey kMeasured{.spec = "s", .code = "c", .device = "Fake A100 as a100", .compiler = "NVRTC 13.0"};
const TuneKey kPredicted{.spec = "s", .code = "c", .device = "any a100", .compiler = "NVRTC 13.0"};
constexpr const char* kSmall =
    "sm80 q_outer tile_q=64 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2";
constexpr const char* kLarge =
    "sm80 q_outer tile_q=128 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2";

TunedPlan record(const std::string& plan, int length, std::int64_t date, bool predicted = false) {
  TunedPlan tuned{.key = predicted ? kPredicted : kMeasured,
                  .label = "full f16 d64 a100",
                  .problem = "N" + std::to_string(length),
                  .plan = plan,
                  .ms = 1,
                  .gain = 1.25,
                  .default_plan = "default",
                  .timed = 8,
                  .of = 35,
                  .finished = true,
                  .date = date,
                  .predicted = predicted};
  if (length > 0) tuned.size = ProblemSize{.q_len = length, .kv_len = length};
  return tuned;
}

TunedChoice choice_of(const std::vector<TunedPlan>& plans, const char* target = "a100") {
  return choose_remembered(plans, {kMeasured, kPredicted}, plain_spec(64, 0, DType::f16),
                           find_target(target));
}

}  // namespace

TEST_CASE("plans of single sizes are known there, the latest first", "[tune][bucket]") {
  const TunedChoice choice = choice_of({record(kLarge, 8192, 5), record(kSmall, 512, 6)});
  CHECK(choice.plan.empty());
  REQUIRE(choice.known.size() == 2);
  CHECK(choice.known[0].choice.plan.print() == kSmall);
  CHECK(choice.known[0].size.kv_len == 512);
  CHECK(choice.known[0].is_measured);
  CHECK(choice.known[1].choice.plan.print() == kLarge);
  CHECK(choice.said.find("; ") != std::string::npos);
  CHECK_FALSE(choice.is_predicted);
  // Of one date the later line is the later plan.
  CHECK(choice_of({record(kLarge, 512, 5), record(kSmall, 512, 5)}).known[0].choice.plan.print() == kSmall);
}

TEST_CASE("a plan of no single size is for every call where it came last", "[tune][bucket]") {
  const TunedChoice later = choice_of({record(kSmall, 512, 5), record(kLarge, 0, 6)});
  CHECK(later.plan == kLarge);
  CHECK(later.known.empty());
  const TunedChoice earlier = choice_of({record(kSmall, 512, 6), record(kLarge, 0, 5)});
  CHECK(earlier.plan.empty());
  CHECK(earlier.known.size() == 1);
}

TEST_CASE("predictions are known beside measurements, and say so", "[tune][bucket]") {
  const TunedChoice both = choice_of({record(kSmall, 512, 9, true), record(kLarge, 8192, 5)});
  REQUIRE(both.known.size() == 2);
  CHECK_FALSE(both.known[0].is_measured);
  CHECK(both.known[1].is_measured);
  CHECK_FALSE(both.is_predicted);
  CHECK(choice_of({record(kSmall, 512, 9, true)}).is_predicted);
  // A measured plan for every call comes before predictions of single sizes.
  CHECK(choice_of({record(kSmall, 512, 9, true), record(kLarge, 0, 5)}).plan == kLarge);
}

TEST_CASE("what cannot be built is left out", "[tune][bucket]") {
  const TunedChoice one = choice_of({record("sm80 tile_q=7", 512, 9), record(kLarge, 8192, 5)});
  REQUIRE(one.known.size() == 1);
  CHECK(one.known[0].choice.plan.print() == kLarge);
  const TunedChoice none = choice_of({record("nonsense", 512, 9)});
  CHECK(none.known.empty());
  CHECK(none.said.find("not used: plan 'nonsense': ") == 0);
  CHECK(choice_of({}).said.empty());
}

namespace {

/// `plan` as a table would have it: found by others, at a commit.
TunedPlan shipped(TunedPlan plan) {
  plan.key.code = "any";
  plan.shipped = "0123456789abcdef0123456789abcdef01234567";
  return plan;
}

std::string plan_of(int tile_q) {
  return "sm80 q_outer tile_q=" + std::to_string(tile_q) +
         " tile_kv=64 warps=" + std::to_string(tile_q / 16) + " stages=1 q_in_registers=0 min_ctas=1";
}

/// The tile_q of the plan that a call of a length gets; the model's is 256.
int tile_at(const TunedChoice& choice, int length) {
  if (!choice.plan.empty()) return parse_plan(choice.plan, {}).tile_q;
  const PlanTable own = single_plan({.plan = parse_plan(plan_of(256), {}), .why = "the model's"});
  const PlanTable taken = choice.known.empty() ? own : refine(own, choice.known);
  return line_for(taken, size_of({.q_len = length, .kv_len = length})).choice.plan.tile_q;
}

TunedChoice choice_with(const std::vector<TunedPlan>& stored, const std::vector<TunedPlan>& table) {
  std::vector<TunedPlan> all = stored;
  all.insert(all.end(), table.begin(), table.end());
  return choose_remembered(all, keys_in_order({kMeasured}, {kPredicted}, table),
                           plain_spec(64, 0, DType::f16), find_target("a100"));
}

}  // namespace

TEST_CASE("measured here comes before measured and shipped, predicted here, predicted and shipped",
          "[tune][shipped]") {
  // Whatever the dates: the later, the less they know here.
  const TunedPlan measured = record(plan_of(16), 4096, 1), predicted = record(plan_of(64), 4096, 3, true);
  const TunedPlan measured_elsewhere = shipped(record(plan_of(32), 4096, 2));
  const TunedPlan predicted_elsewhere = shipped(record(plan_of(128), 4096, 4, true));
  const std::vector<TunedPlan> both{predicted_elsewhere, measured_elsewhere};
  CHECK(tile_at(choice_with({predicted, measured}, both), 4096) == 16);
  CHECK(tile_at(choice_with({measured}, both), 4096) == 16);
  CHECK(tile_at(choice_with({predicted}, both), 4096) == 32);
  CHECK(tile_at(choice_with({predicted}, {predicted_elsewhere}), 4096) == 64);
  CHECK(tile_at(choice_with({}, {predicted_elsewhere}), 4096) == 128);
  CHECK(tile_at(choice_with({}, {}), 4096) == 256);
  CHECK(choice_with({}, both).is_shipped);
  CHECK_FALSE(choice_with({predicted}, both).is_shipped);
  CHECK(choice_with({}, {predicted_elsewhere}).is_predicted);

  // A plan for every call that was measured here leaves no room for others; a predicted one does for a measured one.
  CHECK(tile_at(choice_with({record(plan_of(16), 0, 1)}, both), 4096) == 16);
  CHECK(tile_at(choice_with({record(plan_of(16), 0, 9, true)}, both), 4096) == 32);
  CHECK(tile_at(choice_with({record(plan_of(16), 0, 1, true)}, {predicted_elsewhere}), 4096) == 16);
}

TEST_CASE("plans that ship for several sizes have a bucket each, beside what was measured here",
          "[tune][shipped][bucket]") {
  const std::vector<TunedPlan> table{shipped(record(kSmall, 512, 5)), shipped(record(kLarge, 8192, 5))};
  const TunedChoice alone = choice_with({}, table);
  CHECK(alone.is_shipped);
  CHECK_FALSE(alone.is_predicted);
  CHECK(tile_at(alone, 512) == 64);
  CHECK(tile_at(alone, 8192) == 128);
  CHECK(
      alone.said.find("1.25x the default plan's speed at N8192, timed 1970-01-01, shipped with Facet (commit "
                      "0123456789ab, NVRTC 13.0, Fake A100 as a100)") != std::string::npos);

  const TunedChoice beside = choice_with({record(plan_of(16), 8192, 1)}, table);
  CHECK_FALSE(beside.is_shipped);
  CHECK(tile_at(beside, 512) == 64);
  CHECK(tile_at(beside, 8192) == 16);
}

TEST_CASE("a shipped plan that is not legal any more is passed over, and said", "[tune][shipped]") {
  const std::vector<TunedPlan> table{shipped(record("sm80 tile_q=7", 512, 9)),
                                     shipped(record(kLarge, 8192, 5, true))};
  const auto keys = keys_in_order({}, {}, table);
  const CheckedSpec spec = plain_spec(64, 0, DType::f16);
  const TunedChoice one = choose_remembered(table, keys, spec, find_target("a100"));
  REQUIRE(one.known.size() == 1);
  CHECK(one.known[0].choice.plan.print() == kLarge);
  CHECK(one.is_predicted);
  CHECK(one.said.find("; not used: shipped plan 'sm80 tile_q=7': ") != std::string::npos);
  const TunedChoice none = choose_remembered({table[0]}, keys, spec, find_target("a100"));
  CHECK(none.known.empty());
  CHECK(none.plan.empty());
  CHECK(none.said.starts_with("not used: shipped plan 'sm80 tile_q=7': "));

  // One that was measured here and cannot be built leaves the place to those that ship.
  std::vector<TunedPlan> both = table;
  both.push_back(record("nonsense", 8192, 9));
  const TunedChoice other =
      choose_remembered(both, keys_in_order({kMeasured}, {}, table), spec, find_target("a100"));
  REQUIRE(other.known.size() == 1);
  CHECK(other.said.find("not used: plan 'nonsense': ") != std::string::npos);
}
