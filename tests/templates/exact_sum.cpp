// Exact sums of floats: the value, for any order of the terms.
#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.h"
#include "tests/templates/cuda_on_host.h"
// after cuda_on_host.h
#include "templates/common/backward/exact_sum.cuh"

namespace {

float sum_of(const std::vector<float>& terms) {
  fa::ExactSum sum{};
  for (const float term : terms) fa::add_exactly(&sum, term);
  return fa::value_of(sum);
}

/// Any finite float, of all exponents alike.
float any_float(std::mt19937& random) {
  for (;;) {
    const auto x = std::bit_cast<float>(static_cast<unsigned>(random()));
    if (std::isfinite(x)) return x;
  }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("an exact sum of one term is that term", "[templates][backward]") {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const float x = any_float(random);
    REQUIRE(sum_of({x}) == x);
  }
  for (const float x : {0.0f, 1.0f, -1.0f, std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::lowest(), std::numeric_limits<float>::min(),
                        std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::denorm_min()})
    CHECK(sum_of({x}) == x);
}

TEST_CASE("an exact sum is rounded once", "[templates][backward]") {
  std::mt19937 random(2);
  // Sums of two floats are exact in double where their exponents are near enough, and rounding one is IEEE's own.
  for (int i = 0; i < 100000; ++i) {
    const auto near_one = [&] {
      return std::ldexp(static_cast<float>(static_cast<int>(random())), static_cast<int>(random() % 24) - 40);
    };
    const float a = near_one(), b = near_one();
    REQUIRE(sum_of({a, b}) == a + b);
  }
  // Half a unit in the last place, and a little more.
  CHECK(sum_of({1.0f, 0x1p-24f}) == 1.0f);
  CHECK(sum_of({1.0f, 0x1p-24f, 0x1p-149f}) == 1.0f + 0x1p-23f);
  CHECK(sum_of({-1.0f, -0x1p-24f, -0x1p-149f}) == -1.0f - 0x1p-23f);
  CHECK(sum_of({1.0f, 0x1p-24f, -0x1p-149f}) == 1.0f);
}

TEST_CASE("an exact sum loses nothing to what cancels, in any order", "[templates][backward]") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> terms;
    for (int i = 0; i < 100; ++i) {
      const float x = any_float(random);
      terms.push_back(x);
      terms.push_back(-x);
    }
    const float rest = any_float(random);
    terms.push_back(rest);
    std::shuffle(terms.begin(), terms.end(), random);
    REQUIRE(sum_of(terms) == rest);
  }
}

TEST_CASE("an exact sum has as many terms as a call", "[templates][backward]") {
  constexpr int kTerms = 1 << 20;
  fa::ExactSum sum{};
  const float x = -std::nextafter(1.0f, 2.0f);
  for (int i = 0; i < kTerms; ++i) fa::add_exactly(&sum, x);
  CHECK(fa::value_of(sum) == x * kTerms);
  for (unsigned long long& digit : sum.digits) digit *= 1 << 18;  // as 2^38 terms would leave it
  CHECK(fa::value_of(sum) == x * kTerms * (1 << 18));
}

TEST_CASE("an exact sum of what is no number is none", "[templates][backward]") {
  CHECK(sum_of({kInfinity, 1.0f}) == kInfinity);
  CHECK(sum_of({1.0f, -kInfinity}) == -kInfinity);
  CHECK(std::isnan(sum_of({kInfinity, -kInfinity})));
  CHECK(std::isnan(sum_of({std::nanf(""), 1.0f})));
  CHECK(std::isnan(sum_of({std::nanf(""), kInfinity})));
  const float most = std::numeric_limits<float>::max();
  CHECK(sum_of({most, most}) == kInfinity);
  CHECK(sum_of({most, most, -most}) == most);
}
