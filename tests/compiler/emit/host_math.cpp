// The elementary functions over their whole range, in units of the last place, against libm in double
// precision.
#include "compiler/ir/llvm.h"
// after llvm.h
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>
#pragma GCC diagnostic pop

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compiler/emit/host_math.h"
#include "runtime/host_jit.h"
#include "tests/catch.h"

using namespace fa;

namespace {

constexpr int kLanes = 16;
constexpr float kInf = std::numeric_limits<float>::infinity();
using Vector = void (*)(const float* in, float* out);

/// One function of HostMath on 16 numbers, as a vector (or one by one) for a CPU.
class Compiled {
 public:
  Compiled(llvm::Value* (HostMath::*member)(llvm::Value*), bool scalar, const HostCpu& cpu) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("math", *context);
    auto* pointer = llvm::PointerType::get(*context, 0);
    auto* function = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(*context), {pointer, pointer}, false),
        llvm::Function::ExternalLinkage, "f", *module);
    function->addFnAttr("target-features", cpu.features);
    llvm::IRBuilder<> ir(llvm::BasicBlock::Create(*context, "entry", function));
    HostMath math(ir, cpu);
    const int count = scalar ? 1 : kLanes;
    for (int first = 0; first < kLanes; first += count) {
      llvm::Type* type = ir.getFloatTy();
      if (!scalar) type = llvm::FixedVectorType::get(type, kLanes);
      auto at = [&](unsigned arg) {
        return ir.CreateConstGEP1_64(ir.getFloatTy(), function->getArg(arg),
                                     static_cast<std::uint64_t>(first));
      };
      llvm::Value* x = ir.CreateAlignedLoad(type, at(0), llvm::Align(4));
      ir.CreateAlignedStore((math.*member)(x), at(1), llvm::Align(4));
    }
    ir.CreateRetVoid();
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit_->getDataLayout());
    llvm::cantFail(jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
    function_ = llvm::cantFail(jit_->lookup("f")).toPtr<Vector>();
  }

  float operator()(float x) const {
    float in[kLanes], out[kLanes];
    for (float& number : in) number = x;
    function_(in, out);
    return out[kLanes - 1];
  }
  void operator()(const float* in, float* out) const { function_(in, out); }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  Vector function_ = nullptr;
};

/// |x - exact| in units of exact's last place; infinity where only one is NaN.
double ulps(float x, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(x)) return std::isnan(exact) && std::isnan(x) ? 0 : HUGE_VAL;
  if (x == rounded) return 0;
  if (std::isinf(x) || std::isinf(rounded)) return HUGE_VAL;
  const int exponent = std::max(std::ilogb(exact == 0 ? 0x1p-126 : exact), -126);
  return std::fabs(static_cast<double>(x) - exact) / std::ldexp(1.0, exponent - 23);
}

struct Range {
  float lowest, highest;
};

/// Worst error over floats of the range, both by even steps of the number and of its bits.
double worst(const Compiled& function, double (*exact)(double), Range range) {
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
    CHECK(worst(Compiled(test.member, false, host_cpu()), test.exact, test.range) < test.bound);
    CHECK(worst(Compiled(test.member, true, host_cpu()), test.exact, test.range) < test.bound);
    CHECK(worst(Compiled(test.member, false, plain), test.exact, test.range) < test.bound + 1);  // no FMA
  }
}

TEST_CASE("host math: limits") {
  for (const bool scalar : {false, true}) {
    auto of = [&](llvm::Value* (HostMath::*member)(llvm::Value*), float x) {
      return Compiled(member, scalar, host_cpu())(x);
    };
    const Compiled exp2(&HostMath::exp2, scalar, host_cpu());
    CHECK(exp2(-kInf) == 0.0f);
    CHECK(exp2(kInf) == kInf);
    CHECK(exp2(128.0f) == kInf);
    CHECK(exp2(0.0f) == 1.0f);
    CHECK(exp2(-3.0f) == 0.125f);
    CHECK(exp2(-140.0f) == std::ldexp(1.0f, -140));  // subnormal
    CHECK(std::isnan(exp2(NAN)));
    const Compiled part(&HostMath::exp2_nonpositive, scalar, host_cpu());
    CHECK(part(-kInf) == 0.0f);
    CHECK(part(0.0f) == 1.0f);
    for (const float x : {-127.0f, -150.0f, -1e30f}) CHECK(part(x) == 0.0f);
    CHECK(part(-126.0f) == std::ldexp(1.0f, -126));
    CHECK(std::isnan(part(NAN)));
    const Compiled log(&HostMath::log, scalar, host_cpu()), log2(&HostMath::log2, scalar, host_cpu());
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
