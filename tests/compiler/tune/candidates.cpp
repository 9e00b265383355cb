// What a search tries, in which order, and which plans are next to one.
#include "compiler/tune/candidates.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/compile.h"
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

TEST_CASE("the host's candidates begin with the default, then go by the model", "[tune]") {
  const auto plans = tuning_candidates(plain_spec(64, 0, DType::f32), {}, find_target("host"), {});
  REQUIRE(plans[0].print() == "host q_outer tile_q=96 tile_kv=64");
  const auto ranked = rank_plans(plain_spec(64, 0, DType::f32), {}, find_target("host"));
  for (std::size_t i = 0; i < plans.size(); ++i) CHECK(plans[i] == ranked[i].plan);
  CHECK(plans.back().tile_q == 16);
}

TEST_CASE("plans next to one differ by a step in one field", "[tune]") {
  const auto plans = tuning_candidates(plain_spec(64, 0, DType::f32), {}, find_target("host"), {});
  std::set<std::string> next;
  for (const std::size_t plan : plans_next_to(plans, 0)) next.insert(plans[plan].print());
  CHECK(next ==
        std::set<std::string>{"host q_outer tile_q=64 tile_kv=64", "host q_outer tile_q=128 tile_kv=64",
                              "host q_outer tile_q=96 tile_kv=32", "host q_outer tile_q=96 tile_kv=128"});
}

TEST_CASE("between two multiples of 64 columns a search may step at once", "[tune][candidates]") {
  const Target& target = find_target("h200:sm75");
  const auto plans = tuning_candidates(plain_spec(64, 0, DType::f16), {}, target, {});
  const auto at = [&](const std::string& text) {
    const auto found = std::ranges::find(plans, text, [](const Plan& plan) { return plan.print(); });
    REQUIRE(found != plans.end());
    return static_cast<std::size_t>(found - plans.begin());
  };
  const std::string begin = "sm75 q_outer tile_q=128 tile_kv=",
                    end = " warps=8 stages=1 q_in_registers=1 min_ctas=1";
  const auto next = plans_next_to(plans, at(begin + "128" + end));
  for (const char* tile_kv : {"112", "144", "192"})
    CHECK(std::ranges::find(next, at(begin + tile_kv + end)) != next.end());
  CHECK(std::ranges::find(next, at(begin + "160" + end)) == next.end());
}

TEST_CASE("a search may try the fastest plans with the other search_first", "[tune][candidates]") {
  const Target& target = find_target("a100");
  const CheckedSpec spec = with_hooks(plain_spec(64));
  const auto plans = tuning_candidates(spec, masked(), target, {});
  CHECK(std::ranges::count_if(plans, [](const Plan& plan) { return plan.search_first; }) == 16);
  const auto next = plans_next_to(plans, 0);
  Plan other = plans[0];
  CHECK_FALSE(other.search_first);
  other.search_first = true;
  CHECK(std::ranges::any_of(next, [&](std::size_t plan) { return plans[plan] == other; }));
}

TEST_CASE("of each family, tile_q and number of warps one plan is the first", "[tune][candidates]") {
  const auto plans = tuning_candidates(plain_spec(64, 0, DType::bf16), {}, find_target("h200"), {});
  const auto first = first_of_kinds(plans);
  const auto kind = [&](std::size_t plan) {
    return std::tuple(plans[plan].family, plans[plan].tile_q, plans[plan].warps);
  };
  std::set<decltype(kind(0))> kinds, all;
  for (const std::size_t plan : first) {
    CHECK(kinds.insert(kind(plan)).second);
    for (std::size_t before = 0; before < plan; ++before) CHECK(kind(before) != kind(plan));
  }
  for (std::size_t plan = 0; plan < plans.size(); ++plan) all.insert(kind(plan));
  CHECK(kinds == all);
  CHECK(std::ranges::is_sorted(first));
}

TEST_CASE("the tiles that a mask leaves order the candidates where Facts do not know them",
          "[tune][candidates]") {
  const Target& target = find_target("h200");
  const ProblemSize size{.batch = 2, .num_q_heads = 32, .num_kv_heads = 32, .q_len = 4096, .kv_len = 4096};
  const auto ordered = [&](const std::string& mask, const ShareOfTiles& share) {
    const Spec spec = Spec::parse("attention t\nhead_dim 64\ndtype bf16\ntensor id : i32[kv_len]\n" + mask);
    return tuning_candidates(spec.checked(), compile_front_end(spec.checked(), target).facts, target, size,
                             share);
  };
  const std::string document = "mask_mod = id[q_idx] == id[kv_idx]\n",
                    causal = "mask_mod = q_idx >= kv_idx\n";
  // A mask that leaves a few scores of each tile: the smaller the tile, the fewer there are.
  const auto area = [](const Plan& plan, const ProblemSize&) { return plan.tile_q * plan.tile_kv / 65536.0; };
  const std::vector<Plan> plain = ordered(document, {}), by_area = ordered(document, area);
  REQUIRE(plain.size() == by_area.size());
  CHECK(plain.front() == by_area.front());  // the default
  const auto scores = [](const Plan& plan) { return plan.tile_q * plan.tile_kv; };
  CHECK(scores(by_area[1]) < scores(plain[1]));
  CHECK(scores(by_area[2]) < scores(plain[2]));
  const auto by_default_search = [](std::vector<Plan> plans) {
    std::erase_if(plans, [](const Plan& plan) { return plan.search_first; });
    return plans;
  };
  CHECK(std::ranges::is_permutation(by_default_search(plain), by_default_search(by_area)));
  CHECK(ordered(causal, {}) == ordered(causal, area));  // a band is known
}
