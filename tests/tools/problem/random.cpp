// tools/problem/random.h: fixed values, so that a seed means the same numbers on every machine and in every
// version.
#include "tools/problem/random.h"

#include <cmath>

#include "tests/catch.h"

using namespace fa::tools;

TEST_CASE("random words are SplitMix64's") {
  // The published sequence of seed 1234567.
  CHECK(random_bits(1234567, 0) == 6457827717110365317ULL);
  CHECK(random_bits(1234567, 1) == 3203168211198807973ULL);
  CHECK(random_bits(1234567, 2) == 9817491932198370423ULL);
}

TEST_CASE("random normals have mean 0, variance 1 and end at 6") {
  double sum = 0;
  double squares = 0;
  double largest = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double x = static_cast<double>(random_normal(7, static_cast<std::uint64_t>(i)));
    sum += x;
    squares += x * x;
    largest = std::max(largest, std::fabs(x));
  }
  CHECK(std::fabs(sum / kCount) < 0.01);
  CHECK(std::fabs(squares / kCount - 1) < 0.01);
  CHECK(largest > 3.5);
  CHECK(largest < 6);
}

TEST_CASE("random numbers below a bound reach all of it and nothing else") {
  std::uint32_t seen = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto value = random_below(3, i, 8);
    REQUIRE(value < 8);
    seen |= 1U << value;
  }
  CHECK(seen == 0xff);
}
