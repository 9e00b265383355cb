#include "compiler/ir/evaluate/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/ir/import/parts.h"

namespace fa {
namespace {

std::int64_t saturated(double x, double low, double high) {
  if (std::isnan(x)) return 0;
  return static_cast<std::int64_t>(std::clamp(std::trunc(x), low, high));
}

}  // namespace

void cannot_evaluate(const llvm::Value& at, const char* why) {
  throw Error(fmt::format("the reference for hooks from LLVM IR: {} {}", quote(at), why));
}

std::int64_t sign_extended(std::int64_t bits, unsigned width) {
  if (width >= 64) return bits;
  const unsigned rest = 64 - width;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(bits) << rest) >> rest;
}

std::uint64_t zero_extended(std::int64_t bits, unsigned width) {
  const auto all = static_cast<std::uint64_t>(bits);
  return width >= 64 ? all : all & ((std::uint64_t{1} << width) - 1);
}

EvaluatorValue to_integer(double x, unsigned width, bool is_signed) {
  // Values that do not fit 32 bits saturate at 32 bits before they are narrowed.
  const unsigned wide = std::max(width, 32u);
  const double high = std::ldexp(1.0, static_cast<int>(is_signed ? wide - 1 : wide)) - 1;
  const double low = is_signed ? -high - 1 : 0;
  return {.bits = sign_extended(saturated(x, low, high), width)};
}

bool integer_compare(const llvm::ICmpInst& compare, const EvaluatorValue& a, const EvaluatorValue& b) {
  if (!compare.getOperand(0)->getType()->isIntegerTy()) cannot_evaluate(compare);
  const unsigned width = compare.getOperand(0)->getType()->getIntegerBitWidth();
  return llvm::ICmpInst::compare(llvm::APInt(width, zero_extended(a.bits, width)),
                                 llvm::APInt(width, zero_extended(b.bits, width)), compare.getPredicate());
}

EvaluatorValue integer_binary(const llvm::Instruction& at, std::int64_t a, std::int64_t b, unsigned width) {
  using llvm::Instruction;
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const std::uint64_t ux = zero_extended(a, width), uy = zero_extended(b, width);
  const std::uint64_t amount = y & (width > 32 ? 63 : 31);
  const auto wrapped = [&](std::uint64_t bits) {
    return EvaluatorValue{.bits = sign_extended(static_cast<std::int64_t>(bits), width)};
  };
  switch (at.getOpcode()) {
    case Instruction::Add:
      return wrapped(x + y);
    case Instruction::Sub:
      return wrapped(x - y);
    case Instruction::Mul:
      return wrapped(x * y);
    case Instruction::Shl:
      return wrapped(x << amount);
    case Instruction::LShr:
      return wrapped(ux >> amount);
    case Instruction::AShr:
      return wrapped(static_cast<std::uint64_t>(a >> amount));
    case Instruction::And:
      return wrapped(x & y);
    case Instruction::Or:
      return wrapped(x | y);
    case Instruction::Xor:
      return wrapped(x ^ y);
    case Instruction::SDiv:
      return b == 0    ? EvaluatorValue{}
             : b == -1 ? wrapped(0 - x)
                       : wrapped(static_cast<std::uint64_t>(a / b));
    case Instruction::SRem:
      return b == 0 || b == -1 ? EvaluatorValue{} : wrapped(static_cast<std::uint64_t>(a % b));
    case Instruction::UDiv:
      return uy == 0 ? EvaluatorValue{} : wrapped(ux / uy);
    case Instruction::URem:
      return uy == 0 ? EvaluatorValue{} : wrapped(ux % uy);
    default:
      cannot_evaluate(at);
  }
}

namespace {

std::string plain_name(const llvm::CallInst& call) {
  llvm::StringRef name = call.getCalledFunction()->getName();
  name.consume_front("__nv_");
  if (name.consume_front("llvm.")) name = name.substr(0, name.find('.'));
  return name.str();
}

double float_function(const llvm::CallInst& call, const std::string& plain,
                      llvm::function_ref<double(unsigned)> arg) {
  const double x = arg(0);
  if (plain == "fabsf" || plain == "fabs") return std::fabs(x);
  if (plain == "floorf" || plain == "floor") return std::floor(x);
  if (plain == "ceilf" || plain == "ceil") return std::ceil(x);
  if (plain == "truncf" || plain == "trunc") return std::trunc(x);
  for (const char* name : {"rintf", "rint", "nearbyintf", "nearbyint", "roundevenf", "roundeven"})
    if (plain == name) return std::nearbyint(x);
  if (plain == "sqrtf" || plain == "sqrt") return std::sqrt(x);
  if (plain == "rsqrtf") return 1 / std::sqrt(x);
  if (plain == "expf" || plain == "exp") return std::exp(x);
  if (plain == "exp2f" || plain == "exp2") return std::exp2(x);
  if (plain == "logf" || plain == "log") return std::log(x);
  if (plain == "log2f" || plain == "log2") return std::log2(x);
  if (plain == "tanhf" || plain == "tanh") return std::tanh(x);
  if (plain == "erff") return std::erf(x);
  if (plain == "sinf" || plain == "sin") return std::sin(x);
  if (plain == "cosf" || plain == "cos") return std::cos(x);
  if (plain == "tanf" || plain == "tan") return std::tan(x);
  if (plain == "atanf" || plain == "atan") return std::atan(x);
  if (plain == "log1pf") return std::log1p(x);
  if (plain == "expm1f") return std::expm1(x);
  if (plain == "atan2f") return std::atan2(x, arg(1));
  if (plain == "powf" || plain == "pow") return std::pow(x, arg(1));
  if (plain == "canonicalize" || plain == "expect") return x;
  if (plain == "fminf" || plain == "minnum") return std::fmin(x, arg(1));
  if (plain == "fmaxf" || plain == "maxnum") return std::fmax(x, arg(1));
  if (plain == "minimum" || plain == "maximum") {
    const double y = arg(1);
    if (std::isnan(x) || std::isnan(y)) return x + y;
    return plain == "minimum" ? std::fmin(x, y) : std::fmax(x, y);
  }
  cannot_evaluate(call);
}

}  // namespace

bool is_rounding(const llvm::CallInst& call) {
  const std::string plain = plain_name(call);
  for (const char* name : {"floor", "floorf", "ceil", "ceilf", "trunc", "truncf", "rint", "rintf",
                           "nearbyint", "nearbyintf", "roundeven", "roundevenf"})
    if (plain == name) return true;
  return false;
}

EvaluatorValue float_call(const llvm::CallInst& call, EvaluatorArgument arg) {
  const std::string plain = plain_name(call);
  EvaluatorValue result;
  for (unsigned i = 0; i < call.arg_size(); ++i) result.by_score |= arg(i).by_score;
  if (plain == "fmuladd") {
    result.real = arg(0).real * arg(1).real + arg(2).real;
    result.single = arg(0).single * arg(1).single;
    result.single += arg(2).single;
    return result;
  }
  const auto single = [&](unsigned i) { return static_cast<double>(arg(i).single); };
  result.single = plain == "rsqrtf" ? 1.0f / std::sqrt(arg(0).single)
                                    : static_cast<float>(float_function(call, plain, single));
  // Rounding to a whole number is a decision, so it uses the f32.
  result.real = is_rounding(call) ? static_cast<double>(result.single)
                                  : float_function(call, plain, [&](unsigned i) { return arg(i).real; });
  return result;
}

EvaluatorValue integer_call(const llvm::CallInst& call, EvaluatorArgument arg) {
  if (!call.getType()->isIntegerTy()) cannot_evaluate(call);
  const unsigned width = call.getType()->getIntegerBitWidth();
  const std::int64_t a = arg(0).bits;
  const std::uint64_t ua = zero_extended(a, width);
  const auto b = [&] { return arg(1).bits; };
  const auto ub = [&] { return zero_extended(arg(1).bits, width); };
  const auto of = [&](std::uint64_t bits) {
    return EvaluatorValue{.bits = sign_extended(static_cast<std::int64_t>(bits), width)};
  };
  if (call.getCalledFunction()->getName() == "abs") return of(static_cast<std::uint64_t>(a < 0 ? -a : a));
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::smin:
      return {.bits = std::min(a, b())};
    case llvm::Intrinsic::smax:
      return {.bits = std::max(a, b())};
    case llvm::Intrinsic::umin:
      return of(std::min(ua, ub()));
    case llvm::Intrinsic::umax:
      return of(std::max(ua, ub()));
    case llvm::Intrinsic::abs:
      return of(static_cast<std::uint64_t>(a < 0 ? -a : a));
    case llvm::Intrinsic::usub_sat:
      return of(ua < ub() ? 0 : ua - ub());
    case llvm::Intrinsic::ctpop:
      return of(static_cast<std::uint64_t>(std::popcount(ua)));
    case llvm::Intrinsic::cttz:
      return of(ua == 0 ? width : static_cast<std::uint64_t>(std::countr_zero(ua)));
    case llvm::Intrinsic::ctlz:
      return of(static_cast<std::uint64_t>(std::countl_zero(ua)) - (64 - width));
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr: {
      std::uint64_t left = zero_extended(arg(2).bits, width) % width;
      if (call.getIntrinsicID() == llvm::Intrinsic::fshr) left = width - left;
      if (left == 0) return of(ua);
      return of(left == width ? ub() : (ua << left) | (ub() >> (width - left)));
    }
    case llvm::Intrinsic::fptosi_sat: {
      const double high = std::ldexp(1.0, static_cast<int>(width) - 1) - 1;
      return {.bits = saturated(static_cast<double>(arg(0).single), -high - 1, high)};
    }
    case llvm::Intrinsic::fptoui_sat:
      return of(static_cast<std::uint64_t>(
          saturated(static_cast<double>(arg(0).single), 0, std::ldexp(1.0, static_cast<int>(width)) - 1)));
    case llvm::Intrinsic::is_fpclass: {
      const auto x = static_cast<double>(arg(0).single);
      const auto asked = static_cast<unsigned>(arg(1).bits);
      const unsigned is = std::isnan(x) ? llvm::fcNan : std::isinf(x) ? llvm::fcInf : llvm::fcFinite;
      return {.bits = (asked & is) == is ? -1 : 0};
    }
    case llvm::Intrinsic::expect:
      return arg(0);
    default:
      cannot_evaluate(call);
  }
}

}  // namespace fa
