// Threads that build ahead of the one that reads: every plan once, stopped in the middle, and what they throw.
#include "runtime/tune/builds.h"

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>

#include "tests/catch.h"

using namespace fa;

namespace {

std::vector<Plan> some_plans(int count) {
  std::vector<Plan> plans;
  for (int i = 0; i < count; ++i) plans.push_back({.tile_q = 16 * (i + 1)});
  return plans;
}

TunedBuild made_of(const Plan& plan) {
  return {.key = {}, .plan = plan.print(), .built = {.registers = plan.tile_q}, .mix = {}, .failure = {}};
}

void nothing() {}

}  // namespace

TEST_CASE("each plan is built once, by however many threads", "[tune][builds]") {
  for (const int threads : {1, 2, 7}) {
    std::atomic<int> calls = 0;
    BuildsAhead ahead(some_plans(40), threads, [&](const Plan& plan) {
      ++calls;
      return made_of(plan);
    });
    std::set<std::string> seen;
    bool has_added = false;
    while (const auto build = ahead.next(nothing)) {
      seen.insert(build->plan);
      if (!has_added) ahead.add({.tile_q = 4096});
      has_added = true;
    }
    CHECK(seen.size() == 41);
    CHECK(calls == 41);
    CHECK_FALSE(ahead.next(nothing));
  }
  BuildsAhead none({}, 2, made_of);
  CHECK_FALSE(none.next(nothing));
}

TEST_CASE("plans that are no longer wanted are not built", "[tune][builds]") {
  const std::vector<Plan> plans = some_plans(40);
  std::atomic<bool> is_decided = false;
  std::atomic<int> calls = 0;
  BuildsAhead ahead(plans, 1, [&](const Plan& plan) {
    while (calls > 0 && !is_decided) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++calls;
    return made_of(plan);
  });
  REQUIRE(ahead.next(nothing));
  ahead.keep_if([](const Plan& plan) { return plan.tile_q > 16 * 38; });
  is_decided = true;
  std::set<std::string> seen;
  while (const auto build = ahead.next(nothing)) seen.insert(build->plan);
  seen.erase(plans[1].print());  // may have begun before
  CHECK(seen == std::set{plans[38].print(), plans[39].print()});
}

TEST_CASE("builds run at once, and ahead of the reader", "[tune][builds]") {
  std::atomic<int> at_once = 0, most = 0;
  BuildsAhead ahead(some_plans(6), 3, [&](const Plan& plan) {
    const int now = ++at_once;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    // Ends as soon as two others have begun, however slow the machine is.
    for (int i = 0; i < 2000 && most < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --at_once;
    return made_of(plan);
  });
  int read = 0;
  while (ahead.next(nothing)) ++read;
  CHECK(read == 6);
  CHECK(most == 3);
}

TEST_CASE("after a stop no build begins, and those under way are read", "[tune][builds]") {
  std::atomic<int> begun = 0;
  std::atomic<bool> may_end = false;
  BuildsAhead ahead(some_plans(40), 2, [&](const Plan& plan) {
    ++begun;
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return made_of(plan);
  });
  while (begun < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int read = 0, waits = 0;
  const auto stop = [&] {
    ++waits;
    ahead.stop();
    may_end = true;
  };
  while (ahead.next(stop)) ++read;
  CHECK(read == 2);
  CHECK(begun == 2);
  CHECK(waits >= 1);
}

TEST_CASE("what a build throws ends the others and reaches the reader", "[tune][builds]") {
  BuildsAhead ahead(some_plans(40), 2, [](const Plan& plan) -> TunedBuild {
    if (plan.tile_q == 48) throw std::runtime_error("no memory");
    return made_of(plan);
  });
  const auto read_all = [&] {
    while (ahead.next(nothing)) {
    }
  };
  CHECK_THROWS_AS(read_all(), std::runtime_error);
}
