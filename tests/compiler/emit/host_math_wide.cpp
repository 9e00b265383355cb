// The functions that are computed in double and rounded once: half a unit of the last place over their whole
// range, the cases that C's library defines, and a CPU without FMA.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "compiler/emit/host/vector/math.h"
#include "runtime/host/jit.h"
#include "tests/catch.h"
#include "tests/compiler/emit/vector_function.h"

using namespace fa;
using namespace fa::test;

namespace {

using Emit = std::function<llvm::Value*(HostMath&, llvm::Value*)>;
using Exact = std::function<double(double)>;

VectorFunction compiled(const Emit& emit, bool scalar, const HostCpu& cpu) {
  return VectorFunction(
      [&](llvm::IRBuilder<>& ir, llvm::Value* x) {
        HostMath math(ir, cpu);
        return emit(math, x);
      },
      scalar, cpu.features);
}

llvm::Value* constant(llvm::Value* like, float value) {
  return llvm::ConstantFP::get(like->getType(), static_cast<double>(value));
}

/// The worst error over floats of either sign whose bits are a fixed odd step apart.
double worst(const VectorFunction& function, const Exact& exact, std::uint32_t step) {
  double found = 0;
  float at = 0;
  float in[kLanes], out[kLanes];
  int filled = 0;
  for (std::uint64_t bits = 0; bits < 0x100000000ULL; bits += step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) continue;
    in[filled++] = x;
    if (filled < kLanes) continue;
    filled = 0;
    function(in, out);
    for (int i = 0; i < kLanes; ++i) {
      const double error = ulps(out[i], exact(static_cast<double>(in[i])));
      if (error > found) found = error, at = in[i];
    }
  }
  UNSCOPED_INFO("worst at " << at);
  return found;
}

struct Case {
  std::string name;
  Emit emit;
  Exact exact;
};

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"log1p", [](HostMath& math, llvm::Value* x) { return math.log1p(x); },
       [](double x) { return std::log1p(x); }},
      {"expm1", [](HostMath& math, llvm::Value* x) { return math.expm1(x); },
       [](double x) { return std::expm1(x); }},
      {"atan", [](HostMath& math, llvm::Value* x) { return math.atan(x); },
       [](double x) { return std::atan(x); }},
  };
  for (const float other :
       {0.5f, -0.5f, 1.0f, 3.0f, -7.0f, 0.333f, 1e-20f, 2.5e30f, kInf, -kInf, 0.0f, -0.0f}) {
    const auto wide = static_cast<double>(other);
    all.push_back({"x ** " + std::to_string(other),
                   [=](HostMath& math, llvm::Value* x) { return math.pow(x, constant(x, other)); },
                   [=](double x) { return std::pow(x, wide); }});
    all.push_back({std::to_string(other) + " ** x",
                   [=](HostMath& math, llvm::Value* x) { return math.pow(constant(x, other), x); },
                   [=](double x) { return std::pow(wide, x); }});
    all.push_back({"atan2(x, " + std::to_string(other) + ")",
                   [=](HostMath& math, llvm::Value* x) { return math.atan2(x, constant(x, other)); },
                   [=](double x) { return std::atan2(x, wide); }});
    all.push_back({"atan2(" + std::to_string(other) + ", x)",
                   [=](HostMath& math, llvm::Value* x) { return math.atan2(constant(x, other), x); },
                   [=](double x) { return std::atan2(wide, x); }});
  }
  return all;
}

}  // namespace

TEST_CASE("host math: series in double are the nearest float, or nearly") {
  const HostCpu plain = HostCpu::from_features(host_cpu().triple, "", "");
  for (const Case& test : cases()) {
    INFO(test.name);
    CHECK(worst(compiled(test.emit, false, host_cpu()), test.exact, 20011) < 0.51);
    CHECK(worst(compiled(test.emit, true, host_cpu()), test.exact, 200003) < 0.51);
    CHECK(worst(compiled(test.emit, false, plain), test.exact, 200003) < 0.51);
  }
}

TEST_CASE("host math: NaN goes in and comes out, but where C says that the other side decides") {
  for (const bool scalar : {false, true}) {
    for (const Case& test : cases()) {
      INFO(test.name);
      CHECK(std::isnan(compiled(test.emit, scalar, host_cpu())(NAN)) == std::isnan(test.exact(NAN)));
    }
  }
}

TEST_CASE("host math: the logarithm of a row's sum, beside its maximum, is the nearest float") {
  for (const float exponent : {0.0f, 17.25f, -40.7f, 3e4f}) {
    const VectorFunction function =
        compiled([&](HostMath& math, llvm::Value* x) { return math.log_scaled(constant(x, exponent), x); },
                 true, host_cpu());
    double found = 0;
    for (std::uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 20011) {
      const float x = std::bit_cast<float>(bits);
      const double exact = std::log(static_cast<double>(x)) + static_cast<double>(exponent) * std::log(2.0);
      found = std::max(found, ulps(function(x), exact));
    }
    INFO("exponent " << exponent);
    CHECK(found < 0.51);
    CHECK(function(kInf) == kInf);
    CHECK(std::isnan(function(NAN)));
  }
}
