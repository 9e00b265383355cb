// What a search tries, in which order, and which plans are next to one.
#include "compiler/tune/candidates.h"

#include <set>

#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

TEST_CASE("candidates are legal, all different, and begin with the default", "[tune]") {
  for (const char* target : {"host", "t4", "a100", "h200"}) {
    const CheckedSpec spec = plain_spec(64, 0, target == std::string_view("t4") ? DType::f16 : DType::bf16);
    const Facts facts;
    const auto plans = tuning_candidates(spec, facts, find_target(target), {});
    CHECK(plans.size() >= 30);
    CHECK(plans.front() == choose(spec, facts, find_target(target)).plan);
    std::set<std::string> texts;
    for (const Plan& plan : plans) {
      CHECK(why_illegal(plan, spec, find_target(target)).empty());
      texts.insert(plan.print());
    }
    CHECK(texts.size() == plans.size());
  }
}

TEST_CASE("the host's candidates go outwards from the default", "[tune]") {
  const auto plans = tuning_candidates(plain_spec(64, 0, DType::f32), {}, find_target("host"), {});
  REQUIRE(plans[0].print() == "host q_outer tile_q=96 tile_kv=64");
  CHECK(plans[1].print() == "host q_outer tile_q=128 tile_kv=64");
  CHECK(plans.back().print() == "host q_outer tile_q=16 tile_kv=512");
}

TEST_CASE("plans next to one differ by a step in one field", "[tune]") {
  const auto plans = tuning_candidates(plain_spec(64, 0, DType::f32), {}, find_target("host"), {});
  std::set<std::string> next;
  for (const std::size_t plan : plans_next_to(plans, 0)) next.insert(plans[plan].print());
  CHECK(next ==
        std::set<std::string>{"host q_outer tile_q=64 tile_kv=64", "host q_outer tile_q=128 tile_kv=64",
                              "host q_outer tile_q=96 tile_kv=32", "host q_outer tile_q=96 tile_kv=128"});
}
