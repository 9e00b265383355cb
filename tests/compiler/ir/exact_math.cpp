// The functions that decide something: the nearest f32, or nearly always, and the same bits from every code
// generator. (tests/compiler/emit/hooks.cpp compares the bits of their CUDA text.)
#include "compiler/ir/math/exact_math.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/host/jit.h"
#include "tests/catch.h"
#include "tests/compiler/emit/vector_function.h"

using namespace fa;
using namespace fa::test;

namespace {

VectorFunction compiled(ExactFunction function, bool scalar, const std::string& features) {
  return VectorFunction(
      [=](llvm::IRBuilder<>& ir, llvm::Value* x) { return ExactMath(ir).call(function, x); }, scalar,
      features);
}

struct Tally {
  int count = 0;
  int not_nearest = 0;
  double worst = 0;  // ulps
};

/// Bit patterns between the two ends, a fixed odd step apart.
template <class Exact>
Tally compare(const VectorFunction& function, Exact exact, float lowest, float highest) {
  Tally tally;
  const auto first = std::bit_cast<std::uint32_t>(lowest), last = std::bit_cast<std::uint32_t>(highest);
  const std::uint32_t step = std::max((last - first) / 300000, 1u) | 1u;
  float in[kLanes], out[kLanes];
  int filled = 0;
  for (std::uint64_t bits = first; bits <= last; bits += step) {
    in[filled++] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (filled < kLanes) continue;
    filled = 0;
    function(in, out);
    for (int i = 0; i < kLanes; ++i) {
      const double want = exact(static_cast<double>(in[i]));
      ++tally.count;
      tally.not_nearest += out[i] == static_cast<float>(want) ? 0 : 1;
      tally.worst = std::max(tally.worst, ulps(out[i], want));
    }
  }
  return tally;
}

struct ExactCase {
  const char* name;
  ExactFunction function;
  double (*exact)(double);
  float lowest, highest;
  double share;         // of arguments that may come out as the neighbour
  double worst = 0.55;  // units in the last place
};

constexpr ExactCase kCases[] = {
    {"log", ExactFunction::log, std::log, 1e-45f, 3e38f, 0.002},
    {"log near 1", ExactFunction::log, std::log, 0.5f, 2, 0.002},
    {"log2", ExactFunction::log2, std::log2, 1e-45f, 3e38f, 0.002},
    {"log2 near 1", ExactFunction::log2, std::log2, 0.5f, 2, 0.002},
    {"exp", ExactFunction::exp, std::exp, 1e-10f, 88.7f, 0.002},
    {"exp of negatives", ExactFunction::exp, std::exp, -1e-10f, -87, 0.002},
    {"exp2", ExactFunction::exp2, std::exp2, 1e-10f, 127.9f, 0.002},
    {"sin", ExactFunction::sin, std::sin, 1e-10f, 2e9f, 0.03, 1.0},
    {"sin of negatives", ExactFunction::sin, std::sin, -1e-10f, -2e9f, 0.03, 1.0},
    {"cos", ExactFunction::cos, std::cos, 1e-10f, 2e9f, 0.03, 1.0},
    {"exp2 of negatives", ExactFunction::exp2, std::exp2, -1e-10f, -126, 0.002},
};

}  // namespace

TEST_CASE("exact functions are the nearest f32, or its neighbour now and then", "[exact]") {
  for (const ExactCase& test : kCases) {
    const Tally tally =
        compare(compiled(test.function, false, host_cpu().features), test.exact, test.lowest, test.highest);
    INFO(test.name << ": " << tally.not_nearest << " of " << tally.count << ", worst " << tally.worst);
    CHECK(tally.count > 100000);
    CHECK(tally.not_nearest <= test.share * tally.count);
    CHECK(tally.worst < test.worst);
  }
}

TEST_CASE("exact functions have the same bits from scalar and from vector code", "[exact]") {
  for (const ExactCase& test : kCases) {
    const VectorFunction vector = compiled(test.function, false, host_cpu().features);
    const VectorFunction scalar = compiled(test.function, true, host_cpu().features);
    const auto last = std::bit_cast<std::uint32_t>(test.highest);
    int differ = 0;
    float in[kLanes], a[kLanes], b[kLanes];
    for (std::uint64_t bits = std::bit_cast<std::uint32_t>(test.lowest); bits + kLanes * 9973 < last;
         bits += kLanes * 9973) {
      for (int i = 0; i < kLanes; ++i)
        in[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits) + 9973u * static_cast<unsigned>(i));
      vector(in, a);
      scalar(in, b);
      for (int i = 0; i < kLanes; ++i) differ += std::bit_cast<int>(a[i]) == std::bit_cast<int>(b[i]) ? 0 : 1;
    }
    INFO(test.name);
    CHECK(differ == 0);
  }
}

TEST_CASE("exact functions at their limits", "[exact]") {
  for (const bool scalar : {false, true}) {
    const auto of = [&](ExactFunction function, float x) {
      return compiled(function, scalar, host_cpu().features)(x);
    };
    CHECK(of(ExactFunction::log, 0) == -kInf);
    CHECK(of(ExactFunction::log, kInf) == kInf);
    CHECK(of(ExactFunction::log, 1) == 0);
    CHECK(std::isnan(of(ExactFunction::log, -1)));
    CHECK(std::isnan(of(ExactFunction::log, NAN)));
    CHECK(of(ExactFunction::log2, 8) == 3);
    CHECK(of(ExactFunction::log2, std::ldexp(1.0f, -149)) == -149);
    CHECK(of(ExactFunction::exp, 0) == 1);
    CHECK(of(ExactFunction::exp, -kInf) == 0);
    CHECK(of(ExactFunction::exp, kInf) == kInf);
    CHECK(of(ExactFunction::exp, 88.75f) == kInf);
    CHECK(of(ExactFunction::exp, -100) == static_cast<float>(std::exp(-100.0)));  // subnormal
    CHECK(std::isnan(of(ExactFunction::exp, NAN)));
    CHECK(of(ExactFunction::exp2, -3) == 0.125f);
    CHECK(of(ExactFunction::exp2, 128) == kInf);
    CHECK(of(ExactFunction::exp2, -149) == std::ldexp(1.0f, -149));
    CHECK(of(ExactFunction::exp2, -kInf) == 0);
    CHECK(of(ExactFunction::sin, 0) == 0);
    CHECK(of(ExactFunction::cos, 0) == 1);
    CHECK(std::isnan(of(ExactFunction::sin, kInf)));
    CHECK(std::isnan(of(ExactFunction::cos, NAN)));
    CHECK(std::fabs(of(ExactFunction::sin, 1e30f)) <= 1);
    CHECK(of(ExactFunction::sigmoid, 0) == 0.5f);
    CHECK(of(ExactFunction::sigmoid, -kInf) == 0);
    CHECK(of(ExactFunction::sigmoid, kInf) == 1);
    CHECK(of(ExactFunction::rsqrt, 4) == 0.5f);
    CHECK(of(ExactFunction::rsqrt, 0) == kInf);
  }
}
