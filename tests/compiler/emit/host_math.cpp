// The elementary functions over their whole range, in units of the last place, against libm in double
// precision.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compiler/emit/host/vector/math.h"
#include "runtime/host/jit.h"
#include "tests/catch.h"
#include "tests/compiler/emit/vector_function.h"

using namespace fa;
using namespace fa::test;

namespace {

/// A function of HostMath.
VectorFunction compiled(llvm::Value* (HostMath::*member)(llvm::Value*), bool scalar, const HostCpu& cpu) {
  return VectorFunction([&](llvm::IRBuilder<>& ir, llvm::Value* x) { return (HostMath(ir, cpu).*member)(x); },
                        scalar, cpu.features);
}

struct Range {
  float lowest, highest;
};

/// Worst error over floats of the range, both by even steps of the number and of its bits.
double worst(const VectorFunction& function, double (*exact)(double), Range range) {
  constexpr int kSteps = 400000;
  double found = 0;
  float in[kLanes], out[kLanes];
  auto flush = [&] {
    function(in, out);
    for (int i = 0; i < kLanes; ++i) found = std::max(found, ulps(out[i], exact(static_cast<double>(in[i]))));
  };
  for (int i = 0; i < kSteps; ++i) {
    const double at = static_cast<double>(i) / kSteps;
    float x = range.lowest + static_cast<float>(at) * (range.highest - range.lowest);
    if (i % 2) {  // small magnitudes too, of either sign where the range has both
      x = std::bit_cast<float>(static_cast<std::uint32_t>(at * std::bit_cast<std::uint32_t>(range.highest)));
      if (range.lowest < 0 && i % 4 == 1) x = -x;
      if (x < range.lowest) x = range.lowest;
    }
    in[i % kLanes] = x;
    if (i % kLanes == kLanes - 1) flush();
  }
  return found;
}

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_rsqrt(double x) { return 1 / std::sqrt(x); }

}  // namespace

TEST_CASE("host math: a few units of the last place, everywhere") {
  struct Case {
    const char* name;
    llvm::Value* (HostMath::*member)(llvm::Value*);
    double (*exact)(double);
    Range range;
    double bound;
  };
  const Case cases[] = {
      {"exp2", &HostMath::exp2, std::exp2, {-126, 127.9f}, 1.5},
      {"exp", &HostMath::exp, std::exp, {-87, 88.7f}, 1.5},
      {"log2", &HostMath::log2, std::log2, {1e-45f, 3e38f}, 2},
      {"log2 near 1", &HostMath::log2, std::log2, {0.5f, 2}, 2},
      {"log", &HostMath::log, std::log, {1e-45f, 3e38f}, 1.5},
      {"log near 1", &HostMath::log, std::log, {0.5f, 2}, 1.5},
      {"tanh", &HostMath::tanh, std::tanh, {-12, 12}, 2.5},
      {"sigmoid", &HostMath::sigmoid, exact_sigmoid, {-80, 80}, 3},
      {"erf", &HostMath::erf, std::erf, {-6, 6}, 2},
      {"rsqrt", &HostMath::rsqrt, exact_rsqrt, {1e-37f, 3e38f}, 1.5},
  };
  const HostCpu plain = HostCpu::from_features(host_cpu().triple, "", "");
  for (const Case& test : cases) {
    INFO(test.name);
    CHECK(worst(compiled(test.member, false, host_cpu()), test.exact, test.range) < test.bound);
    CHECK(worst(compiled(test.member, true, host_cpu()), test.exact, test.range) < test.bound);
    CHECK(worst(compiled(test.member, false, plain), test.exact, test.range) < test.bound + 1);  // no FMA
  }
}

TEST_CASE("host math: exp2 of what 16 bits keep is off by less than they show") {
  HostCpu without_scalef = host_cpu();
  without_scalef.avx512 = false;
  for (const HostCpu& cpu : {host_cpu(), without_scalef}) {
    const VectorFunction exp2 = compiled(&HostMath::exp2_in_16_bits, false, cpu);
    const double of_an_ulp = std::ldexp(2.6e-6, 24);  // at most this many are 2.6e-6 of a number
    CHECK(worst(exp2, std::exp2, {-126, 16}) < of_an_ulp);
    CHECK(worst(exp2, std::exp2, {-126, 16}) > of_an_ulp / 4);  // else a shorter polynomial would do
    float in[kLanes] =
        {-kInf,  NAN, std::bit_cast<float>(0x7fc0ffffu), std::bit_cast<float>(0xffc00001u), -126.5f,
         -1e30f, -126},
          out[kLanes];
    exp2(in, out);
    for (const int at : {0, 4, 5}) CHECK(out[at] == 0.0f);
    for (const int at : {1, 2, 3}) CHECK(std::isnan(out[at]));
    CHECK(out[6] == Approx(std::ldexp(1.0, -126)).epsilon(3e-6));
  }
}

TEST_CASE("host math: limits") {
  for (const bool scalar : {false, true}) {
    auto of = [&](llvm::Value* (HostMath::*member)(llvm::Value*), float x) {
      return compiled(member, scalar, host_cpu())(x);
    };
    const VectorFunction exp2 = compiled(&HostMath::exp2, scalar, host_cpu());
    CHECK(exp2(-kInf) == 0.0f);
    CHECK(exp2(kInf) == kInf);
    CHECK(exp2(128.0f) == kInf);
    CHECK(exp2(0.0f) == 1.0f);
    CHECK(exp2(-3.0f) == 0.125f);
    CHECK(exp2(-140.0f) == std::ldexp(1.0f, -140));  // subnormal
    CHECK(std::isnan(exp2(NAN)));
    const VectorFunction part = compiled(&HostMath::exp2_nonpositive, scalar, host_cpu());
    CHECK(part(-kInf) == 0.0f);
    CHECK(part(0.0f) == 1.0f);
    for (const float x : {-127.0f, -150.0f, -1e30f}) CHECK(part(x) == 0.0f);
    CHECK(part(-126.0f) == std::ldexp(1.0f, -126));
    CHECK(std::isnan(part(NAN)));
    const VectorFunction log = compiled(&HostMath::log, scalar, host_cpu());
    const VectorFunction log2 = compiled(&HostMath::log2, scalar, host_cpu());
    CHECK(log(0.0f) == -kInf);
    CHECK(log(1.0f) == 0.0f);
    CHECK(log(kInf) == kInf);
    CHECK(std::isnan(log(-1.0f)));
    CHECK(std::isnan(log(NAN)));
    CHECK(log2(std::ldexp(1.0f, -149)) == -149.0f);
    CHECK(log2(8.0f) == 3.0f);
    CHECK(of(&HostMath::exp, -kInf) == 0.0f);
    CHECK(of(&HostMath::exp, 100.0f) == kInf);
    CHECK(of(&HostMath::tanh, kInf) == 1.0f);
    CHECK(of(&HostMath::tanh, -30.0f) == -1.0f);
    CHECK(of(&HostMath::tanh, 1e-30f) == 1e-30f);
    CHECK(std::isnan(of(&HostMath::tanh, NAN)));
    CHECK(of(&HostMath::sigmoid, -kInf) == 0.0f);
    CHECK(of(&HostMath::sigmoid, kInf) == 1.0f);
    CHECK(of(&HostMath::erf, -kInf) == -1.0f);
    CHECK(std::isnan(of(&HostMath::erf, NAN)));
    CHECK(of(&HostMath::rsqrt, 0.0f) == kInf);
  }
}
