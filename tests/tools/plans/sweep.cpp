// The plans of `facet bench --sweep`: which values a field takes, and what becomes of the rest of the plan.
#include "tools/plans/sweep.h"

#include <algorithm>

#include "compiler/compile.h"
#include "fa/spec.h"
#include "tests/catch.h"

using namespace fa;
using namespace fa::tools;

namespace {

/// The sweep of `text` around the plan that the compiler takes for `forced`, of dense attention in f16, or with `hooks`.
struct Swept {
  Plan base;
  std::vector<SweptPlan> plans;

  std::vector<int> values() const {
    std::vector<int> all;
    for (const SweptPlan& one : plans) all.push_back(one.value);
    return all;
  }
};

Swept sweep(const std::string& text, const std::string& target_name, const std::string& forced = "",
            int head_dim = 64, const std::string& hooks = "") {
  const Spec spec =
      Spec::parse("attention swept\nhead_dim " + std::to_string(head_dim) + "\ndtype f16\n" + hooks);
  const Target& target = find_target(target_name);
  const Compiled compiled = compile_front_end(spec.checked(), target, forced);
  const Plan& base = compiled.choice.plan;
  return {base, plans_of_sweep(parse_sweep(text), base, forced, spec.checked(), compiled.facts, target)};
}

/// What differs between a plan and a base, apart from `field` and min_ctas.
std::vector<std::string> changed(const SweptPlan& swept, const Plan& base, const std::string& field) {
  const Plan plan = parse_plan(swept.plan, {});
  std::vector<std::string> names;
  for (const std::string& name : plan_fields())
    if (name != field && name != "min_ctas" && plan_field(plan, name) != plan_field(base, name))
      names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("a sweep names a field, and may name values", "[tools][sweep]") {
  const Sweep all = parse_sweep("tile_kv");
  CHECK(all.field == "tile_kv");
  CHECK(all.values.empty());
  const Sweep some = parse_sweep("q_in_registers=1,0");
  CHECK(some.field == "q_in_registers");
  CHECK(some.values == std::vector{1, 0});
  CHECK_THROWS_WITH(
      parse_sweep("tile_kw=32"),
      "--sweep: no field of a plan is called 'tile_kw' (did you mean tile_kv?); the fields are tile_q, "
      "tile_kv, warps, stages, q_in_registers, min_ctas, search_first");
  const std::string remedy = "; write values as tile_kv=32,64, or tile_kv alone for every legal one";
  CHECK_THROWS_WITH(parse_sweep("tile_kv="), "--sweep tile_kv=: it names no value" + remedy);
  CHECK_THROWS_WITH(parse_sweep("tile_kv=32,x4"), "--sweep tile_kv=32,x4: 'x4' is not a number" + remedy);
  CHECK_THROWS_WITH(parse_sweep("tile_kv=32,64,32"), "--sweep tile_kv=32,64,32: 32 stands twice" + remedy);
}

TEST_CASE("a sweep leaves the rest of the plan as it is where that can run", "[tools][sweep]") {
  for (const char* target : {"t4", "a100", "h100"}) {
    for (const char* forced : {"", "standard", "kv_outer"}) {
      INFO(target << " " << forced);
      const Swept swept = sweep("tile_kv", target, forced);
      REQUIRE_FALSE(swept.plans.empty());
      CHECK(std::ranges::is_sorted(swept.values()));
      int unchanged = 0;
      for (const SweptPlan& one : swept.plans) {
        INFO(one.plan << one.error);
        CHECK(one.error.empty());
        const Plan plan = parse_plan(one.plan, {});
        CHECK(plan.tile_kv == one.value);
        CHECK(plan.family == swept.base.family);
        CHECK(plan.loop_order == swept.base.loop_order);
        unchanged += changed(one, swept.base, "tile_kv").empty() ? 1 : 0;
      }
      CHECK(unchanged >= 2);
      // The call's own plan is one of them.
      CHECK(std::ranges::any_of(swept.plans,
                                [&](const SweptPlan& one) { return one.plan == swept.base.print(); }));
    }
  }
}

TEST_CASE("a sweep has every value that a legal plan has, and no other", "[tools][sweep]") {
  const Spec spec = Spec::parse("attention full\nhead_dim 128\ndtype f16\n");
  const Target& target = find_target("a100");
  for (const std::string& field : plan_fields()) {
    INFO(field);
    std::vector<int> expected;
    for (const Plan& plan : legal_plans(spec.checked(), target))
      expected.push_back(plan_field(plan, field).value());
    std::ranges::sort(expected);
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    CHECK(sweep(field, "a100", "", 128).values() == expected);
  }
  CHECK(sweep("stages", "a100", "standard").values() == std::vector{2, 3, 4});
  CHECK(sweep("stages", "a100", "kv_outer").values() == std::vector{1});
  CHECK(sweep("stages", "h100", "sm90").values() == std::vector{2});
}

TEST_CASE("a sweep has both places of the first search where tiles may have classes", "[tools][sweep]") {
  const std::string causal = "mask_mod = q_idx >= kv_idx\n", field = "search_first";
  const Swept both = sweep(field, "a100", "", 64, causal);
  REQUIRE(both.values() == std::vector{0, 1});
  CHECK(both.plans[0].plan == both.base.print());
  CHECK(both.plans[1].plan == both.base.print() + " search_first=1");
  CHECK(sweep(field, "a100").values() == std::vector{0});
  CHECK(sweep(field, "h100", "sm90", 64, causal).values() == std::vector{0});
}

TEST_CASE("the other side of the tile stays where more than the value has to change", "[tools][sweep]") {
  // 16 rows take one warp, and the default has four.
  const Swept swept = sweep("tile_q=16,64,128", "t4");
  REQUIRE(swept.plans.size() == 3);
  for (const SweptPlan& one : swept.plans) {
    INFO(one.plan << one.error);
    CHECK(parse_plan(one.plan, {}).tile_kv == swept.base.tile_kv);
  }
  CHECK(parse_plan(swept.plans[0].plan, {}).warps == 1);
}

TEST_CASE("the call's own plan is a point of a sweep as it is", "[tools][sweep]") {
  const Spec spec = Spec::parse("attention full\nhead_dim 64\ndtype f16\n");
  const Target& target = find_target("a100");
  const Compiled compiled = compile_front_end(spec.checked(), target);
  Plan tuned = compiled.choice.plan;  // with a min_ctas that the model would not pick
  REQUIRE(tuned.min_ctas > 1);
  tuned.min_ctas = 1;
  const auto plans =
      plans_of_sweep(parse_sweep("tile_kv"), tuned, "", spec.checked(), compiled.facts, target);
  const auto own = std::ranges::find(plans, tuned.tile_kv, &SweptPlan::value);
  REQUIRE(own != plans.end());
  CHECK(own->plan == tuned.print());
}

TEST_CASE("what --plan says holds in every plan of a sweep", "[tools][sweep]") {
  const Swept swept = sweep("tile_kv=32,64", "a100", "tile_q=64 min_ctas=1");
  REQUIRE(swept.plans.size() == 2);
  for (const SweptPlan& one : swept.plans) {
    CHECK(one.plan.find("tile_q=64 ") != std::string::npos);
    CHECK(one.plan.ends_with("min_ctas=1"));
  }
  // The model takes more CTAs where tiles leave room for them.
  const Swept free = sweep("tile_kv=16,128", "a100", "tile_q=64 warps=4");
  REQUIRE(free.plans.size() == 2);
  CHECK(parse_plan(free.plans[0].plan, {}).min_ctas > parse_plan(free.plans[1].plan, {}).min_ctas);
}

TEST_CASE("a value that no plan can have says why, and the others are there", "[tools][sweep]") {
  const Swept swept = sweep("tile_kv=64,72,4096", "a100");
  REQUIRE(swept.values() == std::vector{64, 72, 4096});
  CHECK(swept.plans[0].error.empty());
  CHECK(swept.plans[1].plan.empty());
  CHECK(swept.plans[1].error.find("cannot run: tile_kv=72 is not a multiple of 16") != std::string::npos);
  CHECK(swept.plans[2].error.find("tile_kv=4096") != std::string::npos);
}

TEST_CASE("a field that plans of the host lack is refused, as is one that the plan sets", "[tools][sweep]") {
  CHECK(sweep("tile_kv", "host").values() == std::vector{32, 64, 128, 256, 512});
  CHECK_THROWS_WITH(
      sweep("warps=1", "host"),
      Catch::Matchers::StartsWith("--sweep warps: plans of host kernels have no such field: 'host q_outer "));
  CHECK_NOTHROW(check_apart_from_plan(parse_sweep("tile_kv"), "tile_q=64"));
  CHECK_THROWS_WITH(
      check_apart_from_plan(parse_sweep("tile_kv"), "tile_q=64 tile_kv=64"),
      "--sweep tile_kv and --plan \"tile_q=64 tile_kv=64\" both say what tile_kv is: leave it out of one");
}
