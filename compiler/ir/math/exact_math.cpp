#include "compiler/ir/llvm.h"
// after llvm.h
#include <map>
#include <vector>

#include "compiler/ir/functions.h"
#include "compiler/ir/math/constants.h"
#include "compiler/ir/math/exact_math.h"
#include "fa/error.h"

namespace fa {
namespace {

// log(2) in three floats: the first has nine bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.63p-1;
constexpr double kLn2Middle = -0x1.bd0106p-13;
constexpr double kLn2Low = 0x1.cf79acp-40;

}  // namespace

std::optional<ExactFunction> exact_function_of(const llvm::CallInst& call) {
  if (!call.getType()->isFloatTy() || call.hasAllowContract()) return {};
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::exp:
      return ExactFunction::exp;
    case llvm::Intrinsic::exp2:
      return ExactFunction::exp2;
    case llvm::Intrinsic::log:
      return ExactFunction::log;
    case llvm::Intrinsic::log2:
      return ExactFunction::log2;
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::cos:
      return sine_of(call);
    default:
      break;
  }
  const llvm::Function* callee = call.getCalledFunction();
  const llvm::StringRef name = callee == nullptr ? llvm::StringRef() : callee->getName();
  if (name == llvm::StringRef(kRsqrtName)) return ExactFunction::rsqrt;
  if (name == llvm::StringRef(kSigmoidName)) return ExactFunction::sigmoid;
  return {};
}

std::optional<ExactFunction> sine_of(const llvm::CallInst& call) {
  if (call.getIntrinsicID() == llvm::Intrinsic::sin) return ExactFunction::sin;
  if (call.getIntrinsicID() == llvm::Intrinsic::cos) return ExactFunction::cos;
  return {};
}

const char* name_of(ExactFunction function) {
  switch (function) {
    case ExactFunction::exp:
      return "exact_exp";
    case ExactFunction::exp2:
      return "exact_exp2";
    case ExactFunction::log:
      return "exact_log";
    case ExactFunction::log2:
      return "exact_log2";
    case ExactFunction::sin:
      return "exact_sin";
    case ExactFunction::cos:
      return "exact_cos";
    case ExactFunction::rsqrt:
      return "exact_rsqrt";
    case ExactFunction::sigmoid:
      break;
  }
  return "exact_sigmoid";
}

std::set<ExactFunction> exact_functions_in(const llvm::Module& module, bool all_sines) {
  std::set<ExactFunction> found;
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      if (const auto exact = exact_function_of(*call)) found.insert(*exact);
      if (const auto sine = sine_of(*call); sine && all_sines) found.insert(*sine);
    }
  return found;
}

void replace_exact_calls(llvm::Module& module) {
  std::vector<std::pair<llvm::CallInst*, ExactFunction>> calls;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const auto exact = exact_function_of(*call);
      if (const auto which = exact ? exact : sine_of(*call)) calls.emplace_back(call, *which);
    }
  std::map<ExactFunction, llvm::Function*> defined;
  for (const auto& [call, which] : calls) {
    llvm::Function*& function = defined[which];
    if (function == nullptr) function = define_exact(module, which);
    llvm::IRBuilder<> builder(call);
    call->replaceAllUsesWith(builder.CreateCall(function, {call->getArgOperand(0)}));
    call->eraseFromParent();
  }
}

llvm::Function* define_exact(llvm::Module& module, ExactFunction function) {
  llvm::Type* f32 = llvm::Type::getFloatTy(module.getContext());
  auto* made = llvm::Function::Create(llvm::FunctionType::get(f32, {f32}, false),
                                      llvm::Function::InternalLinkage, name_of(function), module);
  made->getArg(0)->setName("x");
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "entry", made));
  builder.CreateRet(ExactMath(builder).call(function, made->getArg(0)));
  return made;
}

llvm::Value* ExactMath::call(ExactFunction function, llvm::Value* x) {
  const llvm::IRBuilderBase::FastMathFlagGuard guard(ir_);
  ir_.clearFastMathFlags();
  switch (function) {
    case ExactFunction::exp:
      return exp(x);
    case ExactFunction::exp2:
      return exp2(x);
    case ExactFunction::log:
      return log(x);
    case ExactFunction::log2:
      return log2(x);
    case ExactFunction::sin:
      return sine(x, 0);
    case ExactFunction::cos:
      return sine(x, 1);
    case ExactFunction::rsqrt:
      return rsqrt(x);
    case ExactFunction::sigmoid:
      return sigmoid(x);
  }
  throw InternalError("an exact function of unknown name");
}

llvm::Value* ExactMath::number(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Type* ExactMath::int_type(llvm::Value* like) {
  return like->getType()->getWithNewType(ir_.getInt32Ty());
}

llvm::Value* ExactMath::integer(llvm::Value* like, std::int64_t value) {
  return llvm::ConstantInt::get(int_type(like), static_cast<std::uint64_t>(value), true);
}

llvm::Value* ExactMath::add(llvm::Value* a, llvm::Value* b) { return ir_.CreateFAdd(a, b, "sum"); }
llvm::Value* ExactMath::subtract(llvm::Value* a, llvm::Value* b) { return ir_.CreateFSub(a, b, "rest"); }
llvm::Value* ExactMath::multiply(llvm::Value* a, llvm::Value* b) { return ir_.CreateFMul(a, b, "product"); }

llvm::Value* ExactMath::fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c}, {}, "fused");
}

llvm::Value* ExactMath::polynomial(llvm::Value* x, std::initializer_list<double> low_to_high) {
  const double* at = low_to_high.end() - 1;
  llvm::Value* sum = number(x, *at);
  while (at != low_to_high.begin()) sum = fma(sum, x, number(x, *--at));
  return sum;
}

ExactMath::Pair ExactMath::exact_sum(llvm::Value* large, llvm::Value* small) {
  llvm::Value* sum = add(large, small);
  return {sum, subtract(small, subtract(sum, large))};  // Dekker 1971, Fast2Sum
}

ExactMath::Pair ExactMath::exact_product(llvm::Value* a, llvm::Value* b) {
  llvm::Value* product = multiply(a, b);
  return {product, fma(a, b, ir_.CreateFNeg(product))};
}

/// log(m) = 2 atanh(s) with s = (m - 1) / (m + 1): 2 s + s z (2/3 + z (2/5 + ...)), z = s^2 below 0.0295.
ExactMath::Mantissa ExactMath::log_of_mantissa(llvm::Value* x) {
  llvm::Value* tiny = ir_.CreateFCmpOLT(x, number(x, 0x1p-126));
  llvm::Value* normal = ir_.CreateSelect(tiny, multiply(x, number(x, 0x1p+23)), x);
  llvm::Value* bits = ir_.CreateBitCast(normal, int_type(x), "bits");
  llvm::Value* e = ir_.CreateAShr(ir_.CreateSub(bits, integer(x, 0x3f3504f3)), integer(x, 23), "exponent");
  llvm::Value* m =
      ir_.CreateBitCast(ir_.CreateSub(bits, ir_.CreateShl(e, integer(x, 23))), x->getType(), "m");
  llvm::Value* exponent = ir_.CreateSIToFP(e, x->getType());
  exponent = ir_.CreateSelect(tiny, subtract(exponent, number(x, 23)), exponent);

  llvm::Value* f = subtract(m, number(x, 1));  // exact
  const Pair divisor = exact_sum(number(x, 2), f);
  llvm::Value* inverse = ir_.CreateFDiv(number(x, 1), divisor.high, "inverse");
  llvm::Value* s = multiply(f, inverse);
  llvm::Value* left = fma(ir_.CreateFNeg(s), divisor.high, f);
  left = fma(ir_.CreateFNeg(s), divisor.low, left);
  llvm::Value* s_low = multiply(left, inverse);

  Pair z = exact_product(s, s);
  z.low = fma(multiply(number(x, 2), s), s_low, z.low);
  llvm::Value* rest =
      multiply(z.high, polynomial(z.high, {2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15}));
  constexpr double kThirdHigh = 0x1.555556p-1;
  Pair series = exact_sum(number(x, kThirdHigh), rest);
  series.low = add(series.low, number(x, 2.0 / 3 - kThirdHigh));
  Pair t = exact_product(z.high, series.high);
  t.low = fma(z.high, series.low, fma(z.low, series.high, t.low));
  Pair cube = exact_product(s, t.high);
  cube.low = add(fma(s, t.low, cube.low), fma(s_low, t.high, multiply(number(x, 2), s_low)));
  Pair log = exact_sum(multiply(number(x, 2), s), cube.high);
  log.low = add(log.low, cube.low);
  return {.log = log, .exponent = exponent};
}

llvm::Value* ExactMath::log_limits(llvm::Value* x, llvm::Value* result) {
  result = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(x, kInf)), x, result);
  result = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(x, 0)), number(x, -kInf), result);
  llvm::Value* bad = ir_.CreateFCmpULT(x, number(x, 0));
  return ir_.CreateSelect(bad, llvm::ConstantFP::getNaN(x->getType()), result);
}

llvm::Value* ExactMath::log(llvm::Value* x) {
  const Mantissa of = log_of_mantissa(x);
  const Pair sum = exact_sum(multiply(of.exponent, number(x, kLn2High)), of.log.high);
  const Pair middle = exact_product(of.exponent, number(x, kLn2Middle));
  llvm::Value* tail = add(of.log.low, fma(of.exponent, number(x, kLn2Low), middle.low));
  tail = add(sum.low, add(middle.high, tail));
  return log_limits(x, add(sum.high, tail));
}

llvm::Value* ExactMath::log2(llvm::Value* x) {
  constexpr double kLog2eHigh = 0x1.715476p+0;
  constexpr double kLog2eLow = 0x1.4ae0cp-26;
  const Mantissa of = log_of_mantissa(x);
  Pair scaled = exact_product(of.log.high, number(x, kLog2eHigh));
  scaled.low = fma(of.log.high, number(x, kLog2eLow), fma(of.log.low, number(x, kLog2eHigh), scaled.low));
  const Pair sum = exact_sum(of.exponent, scaled.high);
  return log_limits(x, add(sum.high, add(sum.low, scaled.low)));
}

llvm::Value* ExactMath::power_of_two(llvm::Value* exponent) {
  auto* integers = exponent->getType();
  llvm::Value* biased = ir_.CreateAdd(exponent, llvm::ConstantInt::get(integers, 127));
  return ir_.CreateBitCast(ir_.CreateShl(biased, llvm::ConstantInt::get(integers, 23)),
                           integers->getWithNewType(ir_.getFloatTy()));
}

/// e^y 2^exponent for |y| up to log(2) / 2: 1 + y + y^2 / 2 + y^3 (1/6 + y (1/24 + ...)), the first three
/// terms in two floats.
llvm::Value* ExactMath::exp_of(const Pair& y, llvm::Value* exponent, llvm::Value* x) {
  const Pair square = exact_product(y.high, y.high);
  llvm::Value* cube =
      multiply(multiply(square.high, y.high),
               polynomial(y.high, {1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320}));
  const Pair two = exact_sum(y.high, multiply(square.high, number(x, 0.5)));
  llvm::Value* square_low = fma(multiply(y.high, number(x, 2)), y.low, square.low);
  llvm::Value* tail = add(two.low, add(cube, fma(square_low, number(x, 0.5), y.low)));
  const Pair one = exact_sum(number(x, 1), two.high);
  llvm::Value* power = add(one.high, add(one.low, tail));
  // Multiplies by two factors, so that neither leaves the normal range and only the last product rounds.
  llvm::Value* half = ir_.CreateAShr(exponent, integer(x, 1));
  power = multiply(multiply(power, power_of_two(half)), power_of_two(ir_.CreateSub(exponent, half)));
  return ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), x, power);
}

/// x moved into [-bound, bound], where its power is 0 or infinite already; NaN becomes a number.
llvm::Value* ExactMath::within(llvm::Value* x, double bound) {
  llvm::Value* low = ir_.CreateSelect(ir_.CreateFCmpOLT(x, number(x, bound)), x, number(x, bound));
  return ir_.CreateSelect(ir_.CreateFCmpOGT(low, number(x, -bound)), low, number(x, -bound));
}

llvm::Value* ExactMath::exp2(llvm::Value* x) {
  constexpr double kLn2 = 0x1.62e430p-1;
  constexpr double kLn2Rest = -0x1.05c61p-29;
  llvm::Value* bounded = within(x, 160);
  llvm::Value* n = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, bounded, {}, "n");
  llvm::Value* r = subtract(bounded, n);  // exact
  Pair y = exact_product(r, number(x, kLn2));
  y.low = fma(r, number(x, kLn2Rest), y.low);
  return exp_of(y, ir_.CreateFPToSI(n, int_type(x)), x);
}

llvm::Value* ExactMath::exp(llvm::Value* x) {
  llvm::Value* bounded = within(x, 110);
  llvm::Value* n = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::rint,
                                            multiply(bounded, number(x, 1.4426950408889634)), {}, "n");
  llvm::Value* minus_n = ir_.CreateFNeg(n);
  llvm::Value* first = fma(minus_n, number(x, kLn2High), bounded);  // exact
  llvm::Value* high = fma(minus_n, number(x, kLn2Middle), first);
  llvm::Value* low = fma(minus_n, number(x, kLn2Middle), subtract(first, high));
  low = fma(minus_n, number(x, kLn2Low), low);
  return exp_of({high, low}, ir_.CreateFPToSI(n, int_type(x)), x);
}

/// x = n pi/2 + r, |r| <= pi/4; then Taylor's series of sin(r) or of cos(r), up to r^9 and r^10.
llvm::Value* ExactMath::sine(llvm::Value* x, int turns) {
  constexpr double kHalfPi = 0x1.921fb54442d18p+0;
  constexpr double kHalfPiRest = 0x1.1a62633145c07p-54;
  llvm::Type* f64 = x->getType()->getWithNewType(ir_.getDoubleTy());
  llvm::Value* wide = ir_.CreateFPExt(x, f64);
  llvm::Value* n =
      ir_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, multiply(wide, number(wide, 1 / kHalfPi)), {}, "n");
  llvm::Value* minus_n = ir_.CreateFNeg(n);
  llvm::Value* angle = fma(minus_n, number(wide, kHalfPi), wide);
  angle = fma(minus_n, number(wide, kHalfPiRest), angle);
  // Where n does not fit an integer the angle means nothing; NaN and infinities come out NaN.
  llvm::Value* fits =
      ir_.CreateFCmpOLE(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), number(x, 0x1p31));
  angle = ir_.CreateSelect(fits, angle, multiply(number(wide, 0), wide));
  llvm::Value* r = ir_.CreateFPTrunc(angle, x->getType(), "angle");
  llvm::Value* low = ir_.CreateFPTrunc(subtract(angle, ir_.CreateFPExt(r, f64)), x->getType(), "low");
  llvm::Value* whole = ir_.CreateFPToSI(ir_.CreateSelect(fits, n, number(wide, 0)), int_type(x));
  llvm::Value* quarter = ir_.CreateAdd(whole, integer(x, turns), "quarter");

  llvm::Value* square = multiply(r, r);
  llvm::Value* odd = polynomial(square, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880});
  odd = add(r, fma(multiply(odd, square), r, low));
  llvm::Value* tail = polynomial(square, {1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800});
  const Pair first = exact_sum(number(x, 1), multiply(square, number(x, -0.5)));
  llvm::Value* even =
      add(first.high, fma(multiply(tail, square), square, fma(ir_.CreateFNeg(r), low, first.low)));
  const auto has_bit = [&](std::int64_t bit) {
    return ir_.CreateICmpNE(ir_.CreateAnd(quarter, integer(x, bit)), integer(x, 0));
  };
  llvm::Value* result = ir_.CreateSelect(has_bit(1), even, odd);
  return ir_.CreateSelect(has_bit(2), ir_.CreateFNeg(result), result);
}

llvm::Value* ExactMath::rsqrt(llvm::Value* x) {
  return ir_.CreateFDiv(number(x, 1), ir_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
}

llvm::Value* ExactMath::sigmoid(llvm::Value* x) {
  return ir_.CreateFDiv(number(x, 1), add(number(x, 1), exp(ir_.CreateFNeg(x))));
}

}  // namespace fa
