// Results that threads make ahead of the one that asks: each once, in the order expected, and what making them throws.
#include "runtime/tune/made_ahead.h"

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

using namespace fa;

namespace {

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

std::vector<std::size_t> first(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

TEST_CASE("each result is made once, whoever asks and by however many threads", "[tune][builds]") {
  for (const int threads : {0, 1, 2, 7}) {
    std::atomic<int> calls = 0;
    MadeAhead<int> ahead(50, threads, [&](std::size_t which) {
      ++calls;
      return static_cast<int>(which) * 3;
    });
    ahead.expect(first(40));  // and some that nobody expected
    for (std::size_t i = 0; i < 50; ++i) CHECK(ahead.get(i) == static_cast<int>(i) * 3);
    for (std::size_t i = 50; i-- > 0;) CHECK(ahead.get(i) == static_cast<int>(i) * 3);
    CHECK(calls == 50);
  }
}

TEST_CASE("a result stays where it is", "[tune][builds]") {
  MadeAhead<std::string> ahead(40, 2, [](std::size_t which) { return std::string(which, 'x'); });
  const std::string& third = ahead.get(3);
  ahead.expect(first(40));
  for (std::size_t i = 0; i < 40; ++i) ahead.get(i);
  CHECK(&third == &ahead.get(3));
  CHECK(third == "xxx");
}

TEST_CASE("what is expected is made before anyone asks, by several threads at once", "[tune][builds]") {
  std::atomic<int> at_once = 0, most = 0, made = 0;
  MadeAhead<int> ahead(6, 3, [&](std::size_t) {
    const int now = ++at_once;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    // Ends as soon as two others have begun, however slow the machine is.
    for (int i = 0; i < 2000 && most < 3; ++i) wait_a_little();
    --at_once;
    return ++made;
  });
  ahead.expect(first(6));
  for (int i = 0; i < 20000 && made < 6; ++i) wait_a_little();
  CHECK(made == 6);
  CHECK(most == 3);
}

TEST_CASE("what is no longer expected does not begin", "[tune][builds]") {
  std::atomic<bool> may_end = false;
  std::atomic<int> begun = 0;
  std::array<std::atomic<bool>, 20> was_made{};
  {
    MadeAhead<int> ahead(20, 1, [&](std::size_t which) {
      was_made[which] = true;
      ++begun;
      while (!may_end) wait_a_little();
      return 0;
    });
    ahead.expect(first(10));
    while (begun < 1) wait_a_little();
    ahead.expect({15});
    may_end = true;
    while (begun < 2) wait_a_little();
    CHECK(ahead.get(15) == 0);
  }
  for (const std::size_t which : first(20)) CHECK(was_made[which] == (which == 0 || which == 15));
}

TEST_CASE("what making a result throws is thrown whenever it is asked for", "[tune][builds]") {
  for (const int threads : {0, 2}) {
    MadeAhead<int> ahead(4, threads, [](std::size_t which) {
      if (which == 1) throw std::runtime_error("number 1");
      return 7;
    });
    ahead.expect(first(4));
    CHECK_THROWS_WITH(ahead.get(1), "number 1");
    CHECK_THROWS_WITH(ahead.get(1), "number 1");
    CHECK(ahead.get(2) == 7);
  }
}
