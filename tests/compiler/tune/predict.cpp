// Which of the built plans is predicted to be the fastest, by figures that are made up.
#include "compiler/tune/predict.h"

#include <array>
#include <random>
#include <set>

#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

const CheckedSpec kSpec = plain_spec(64, 0, DType::f16);
const Facts kFacts;
const ShareOfTiles kAll = [](const Plan&, const ProblemSize&) { return 1.0; };

Plan plan_of(const std::string& text) {
  return parse_plan(text, parse_plan("sm80 tile_q=128 tile_kv=64 warps=4 stages=1 min_ctas=2", {}));
}

BuiltPlan built(const std::string& text, int registers, int looped_spills = 0) {
  const Plan plan = plan_of(text);
  return {.plan = plan,
          .built = {.registers = registers,
                    .shared_memory = shared_memory_bytes(plan, kSpec),
                    .spill_bytes = 8 * looped_spills,
                    .looped_spills = looped_spills}};
}

Prediction rank(const std::vector<BuiltPlan>& plans, const CheckedSpec& spec = kSpec,
                std::string_view target = "a100") {
  return rank_built(plans, spec, {}, find_target(target), {ProblemSize{}}, kAll);
}

}  // namespace

TEST_CASE("plans are built in the order of what the compiler thinks of them", "[tune][predict]") {
  for (const char* name : {"t4", "a100", "l4", "h200"}) {
    const Target& target = find_target(name);
    const std::vector<Plan> plans = plans_to_build(kSpec, {}, target);
    CHECK(plans.front() == choose(kSpec, {}, target).plan);
    CHECK(plans.size() == rank_plans(kSpec, {}, target).size());
    CHECK(std::ranges::is_partitioned(
        plans, [&](const Plan& plan) { return is_preferable(plan, kSpec, kFacts, target); }));
  }
}

TEST_CASE("real registers decide how many CTAs an SM holds", "[tune][predict]") {
  const Target& a100 = find_target("a100");
  const BuiltPlan plan = built("", 128);  // 128 threads
  CHECK(ctas_as_built(plan.plan, plan.built, a100) == 4);
  CHECK(ctas_as_built(plan.plan, {.registers = 129, .shared_memory = 1024}, a100) == 3);  // 136 each
  CHECK(ctas_as_built(plan.plan, {.registers = 255, .shared_memory = 1024}, a100) == 2);
  CHECK(ctas_as_built(plan.plan, {.registers = 32, .shared_memory = 80 * 1024}, a100) == 2);
  CHECK(ctas_as_built(plan.plan, {.registers = 32, .shared_memory = 0}, a100) == 16);  // threads
  const auto ms = [&](int registers) {
    const BuiltPlan one = built("", registers);
    return predict(one.plan, one.built, kSpec, {}, a100, {}, 1).ms;
  };
  CHECK(ms(128) < ms(168));
  CHECK(ms(168) < ms(255));
}

TEST_CASE("a plan that spills in its loops is dropped where another does not", "[tune][predict]") {
  const Prediction two = rank({built("", 255, 3), built("tile_kv=32", 168)});
  CHECK(two.dropped == 1);
  CHECK(two.best.of == 1);
  CHECK(two.gain > 1);
  CHECK(two.why.find("spills in its loops") != std::string::npos);
  CHECK(two.ranked.size() == 1);
  const Prediction all = rank({built("", 255, 3), built("tile_kv=32", 255, 9)});
  CHECK(all.dropped == 0);
  CHECK(all.ranked.size() == 2);
  BuiltPlan once = built("", 255);
  once.built.spill_bytes = 64;  // outside of every loop
  CHECK(rank({once, built("tile_kv=32", 255)}).dropped == 0);
}

TEST_CASE("the default stays where nothing is clearly better", "[tune][predict]") {
  CHECK(rank({built("", 207)}).best.of == 0);
  CHECK(rank({built("", 207), built("", 200)}).best.of == 0);  // the model sees no difference
  const Prediction other = rank({built("warps=8", 207), built("warps=8 min_ctas=2", 128)});
  CHECK(other.best.of == 1);
  CHECK(other.why.find("as built it takes 128 registers (about ") != std::string::npos);
  // Three row tiles a warp are nothing that the compiler would choose by itself, however few registers they
  // take.
  const BuiltPlan unusual = built("tile_q=192", 96);
  REQUIRE_FALSE(is_preferable(unusual.plan, kSpec, kFacts, find_target("a100")));
  const Prediction kept = rank({built("", 207), unusual});
  CHECK(kept.best.of == 0);
  CHECK(kept.ranked.size() == 2);
}

TEST_CASE("fewer CTAs are tried where a plan spills", "[tune][predict]") {
  const BuiltPlan spilling = built("min_ctas=2", 255, 1);
  REQUIRE(relaxed(spilling.plan, spilling.built));
  CHECK(relaxed(spilling.plan, spilling.built)->print() == plan_of("min_ctas=1").print());
  CHECK_FALSE(relaxed(plan_of("min_ctas=1"), spilling.built));
  CHECK_FALSE(relaxed(plan_of("min_ctas=2"), built("", 168).built));
}

TEST_CASE("eight plans are worth measuring, three of them unusual at most", "[tune][predict]") {
  const Target& a100 = find_target("a100");
  std::vector<BuiltPlan> plans;
  for (const Plan& plan : plans_to_build(kSpec, {}, a100))
    plans.push_back(
        {.plan = plan, .built = {.registers = 200, .shared_memory = shared_memory_bytes(plan, kSpec)}});
  const Prediction prediction = rank(plans);
  const std::vector<std::size_t> chosen = worth_measuring(plans, prediction.ranked, kSpec, kFacts, a100);
  CHECK(chosen.size() == 8);
  CHECK(std::set(chosen.begin(), chosen.end()).size() == 8);
  CHECK(std::ranges::count_if(chosen, [&](std::size_t of) {
          return !is_preferable(plans[of].plan, kSpec, kFacts, a100);
        }) <= 3);
  CHECK(worth_measuring(plans, {}, kSpec, kFacts, a100).empty());
}

TEST_CASE("what a plan takes cannot beat the least that it could take", "[tune][predict]") {
  for (const char* name : {"t4", "a100", "l4", "h200"}) {
    const Target& target = find_target(name);
    for (const Plan& plan : plans_to_build(kSpec, {}, target)) {
      double fastest = std::numeric_limits<double>::infinity();
      for (int registers = least_registers(plan, kSpec); registers <= 255; registers += 8) {
        for (const int spills : {0, 4}) {
          const AsBuilt as_built{.registers = registers,
                                 .shared_memory = shared_memory_bytes(plan, kSpec),
                                 .looped_spills = spills};
          fastest = std::min(fastest, predict(plan, as_built, kSpec, {}, target, {}, 0.5).ms);
        }
      }
      INFO(name << ": " << plan.print());
      CHECK(least_ms_as_built(plan, kSpec, {}, target, {}, 0.5) <= fastest);
    }
  }
}

TEST_CASE("plans that cannot be worth measuring need no build: what is found stays the same",
          "[tune][predict]") {
  std::mt19937 random(7);
  const ProblemSize size;
  std::size_t built_in_all = 0, of = 0;
  for (const char* name : {"t4", "a100", "l4", "h200"}) {
    const Target& target = find_target(name);
    const std::vector<Plan> plans = plans_to_build(kSpec, {}, target);
    for (int turn = 0; turn < 12; ++turn) {
      // Registers, and spills of some plans, at most or all of them, that ptxas might come to.
      const int spilling_in_ten = std::array{0, 1, 5, 10}[turn % 4];
      std::vector<BuiltPlan> all;
      for (const Plan& plan : plans) {
        const int least = std::min(255, least_registers(plan, kSpec));
        all.push_back(
            {.plan = plan,
             .built = {.registers = std::uniform_int_distribution(least, 255)(random),
                       .shared_memory = shared_memory_bytes(plan, kSpec),
                       .looped_spills = std::uniform_int_distribution(0, 9)(random) < spilling_in_ten}});
      }
      std::vector<BuiltPlan> some;
      TimesToBeat times;
      for (const BuiltPlan& one : all) {
        if (!is_worth_building(one.plan, times, kSpec, kFacts, target, size, kAll)) continue;
        some.push_back(one);
        times = times_to_beat(some, rank(some, kSpec, name).ranked, kSpec, kFacts, target);
      }
      const auto named = [&](const std::vector<BuiltPlan>& built) {
        const Prediction found = rank(built, kSpec, name);
        std::vector<std::string> names{built[found.best.of].plan.print()};
        for (const std::size_t one : worth_measuring(built, found.ranked, kSpec, kFacts, target))
          names.push_back(built[one].plan.print());
        return names;
      };
      INFO(name << ", " << spilling_in_ten << " of 10 spill, " << some.size() << " of " << all.size());
      CHECK(named(some) == named(all));
      built_in_all += some.size();
      of += all.size();
    }
  }
  CHECK(built_in_all < of / 2);
}

TEST_CASE("only the default and the legal plans of a prediction are timed", "[tune][predict]") {
  const Target& a100 = find_target("a100");
  const Plan first = choose(kSpec, {}, a100).plan;
  const Plan other = plan_of("tile_kv=32");
  const auto plans = predicted_candidates(
      first, {other.print(), first.print(), "junk", "sm80 tile_q=1000", "sm99 tile_q=64", other.print()},
      kSpec, a100);
  CHECK(plans == std::vector<Plan>{first, other});
  CHECK(predicted_candidates(first, {}, kSpec, a100) == std::vector<Plan>{first});
}
