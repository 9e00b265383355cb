#include "compiler/schedule/plan.h"

#include "tests/catch.h"

using namespace fa;

namespace {
const Plan kPlan{.family = Family::sm80, .tile_q = 128, .tile_kv = 64, .warps = 4, .min_ctas = 2};

Plan searching_first(Plan plan) {
  plan.search_first = true;
  return plan;
}
}  // namespace

TEST_CASE("a plan prints itself in one line", "[schedule]") {
  const std::string text = "sm80 q_outer tile_q=128 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2";
  CHECK(kPlan.print() == text);
  CHECK(searching_first(kPlan).print() == text + " search_first=1");
}

TEST_CASE("a printed plan parses back", "[schedule]") {
  const Plan other{
      .family = Family::host, .tile_q = 16, .tile_kv = 32, .warps = 1, .stages = 2, .q_in_registers = true};
  Plan standard = kPlan;
  standard.loop_order = LoopOrder::standard;
  CHECK(standard.print() ==
        "sm80 standard tile_q=128 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2");
  for (const Plan& plan : {kPlan, other, Plan{}, standard, searching_first(kPlan)})
    CHECK(parse_plan(plan.print(), Plan{}) == plan);
}

TEST_CASE("a plan of the host prints what the host has, and takes back what it printed before",
          "[schedule]") {
  Plan host{.family = Family::host, .tile_q = 96, .tile_kv = 64, .warps = 1};
  CHECK(host.print() == "host q_outer tile_q=96 tile_kv=64");
  CHECK(parse_plan("host q_outer tile_q=96 tile_kv=64 warps=1 stages=1 q_in_registers=0 min_ctas=1",
                   Plan{}) == host);
  CHECK(parse_plan(host.print(), kPlan) == host);
  host.warps = 4;
  CHECK(host.print() == "host q_outer tile_q=96 tile_kv=64 warps=4");
  CHECK(parse_plan("warps=4 host tile_q=96 tile_kv=64", kPlan) == host);
}

TEST_CASE("a plan's numbers have the names that it prints", "[schedule]") {
  const Plan plan = searching_first(kPlan);
  std::string printed = "sm80 q_outer";
  for (const std::string& name : plan_fields())
    printed += " " + name + "=" + std::to_string(plan_field(plan, name).value());
  CHECK(printed == plan.print());
  CHECK_FALSE(plan_field(kPlan, "sm80").has_value());
}

TEST_CASE("a plan of the host has the two fields that it prints", "[schedule]") {
  const Plan host{.family = Family::host, .tile_q = 96, .tile_kv = 64, .warps = 1};
  for (const std::string& name : plan_fields())
    CHECK(plan_field(host, name).has_value() == (host.print().find(name + "=") != std::string::npos));
}

TEST_CASE("fields left out of a plan keep those of the base", "[schedule]") {
  Plan expected = kPlan;
  CHECK(parse_plan("", kPlan) == expected);
  CHECK(parse_plan(" \n", kPlan) == expected);
  expected.tile_kv = 32;
  expected.q_in_registers = true;
  CHECK(parse_plan("tile_kv=32, q_in_registers=1", kPlan) == expected);
  CHECK(parse_plan("\ttile_kv=32   q_in_registers=1 sm80", kPlan) == expected);
}

TEST_CASE("a malformed plan's message names the field", "[schedule]") {
  CHECK_THROWS_WITH(
      parse_plan("tile_x=3", kPlan),
      "plan: no field is called 'tile_x'; the fields are tile_q, tile_kv, warps, stages, q_in_registers, "
      "min_ctas, search_first");
  CHECK_THROWS_WITH(parse_plan("tile_q=", kPlan), "plan: tile_q = '' is not a number");
  CHECK_THROWS_WITH(parse_plan("tile_q=12x", kPlan), "plan: tile_q = '12x' is not a number");
  CHECK_THROWS_WITH(parse_plan("warps=99999999999", kPlan), "plan: warps = '99999999999' is not a number");
  CHECK_THROWS_WITH(parse_plan("q_in_registers=2", kPlan), "plan: q_in_registers = 2 is neither 0 nor 1");
  CHECK_THROWS_WITH(parse_plan("search_first=2", kPlan), "plan: search_first = 2 is neither 0 nor 1");
  CHECK_THROWS_WITH(parse_plan("sm70", kPlan),
                    "plan: 'sm70' is neither a family, a loop order nor name=number");
  CHECK_THROWS_WITH(parse_plan("tile_q = 64", kPlan),
                    "plan: 'tile_q' is neither a family, a loop order nor name=number");
}
