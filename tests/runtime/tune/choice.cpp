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
