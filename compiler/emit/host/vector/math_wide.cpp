// Functions that scores rarely call: series in double, rounded to float once, so that they are within 0.51
// units of the last place without a fit of their own.
#include <limits>

#include "compiler/emit/host/vector/math.h"
#include "compiler/ir/math/constants.h"

namespace fa {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.69314718055994530942;

}  // namespace

llvm::Value* HostMath::widened(llvm::Value* x) {
  return ir_.CreateFPExt(x, x->getType()->getWithNewType(ir_.getDoubleTy()));
}

llvm::Value* HostMath::rounded(llvm::Value* x) {
  return ir_.CreateFPTrunc(x, x->getType()->getWithNewType(ir_.getFloatTy()));
}

llvm::Value* HostMath::choose(llvm::Value* condition, llvm::Value* then, llvm::Value* otherwise) {
  return ir_.CreateSelect(condition, then, otherwise);
}

llvm::Value* HostMath::wide_power_of_two(llvm::Value* n) {
  auto* i64 = n->getType()->getWithNewType(ir_.getInt64Ty());
  llvm::Value* biased = ir_.CreateAdd(n, llvm::ConstantInt::get(n->getType(), 1023));
  llvm::Value* bits = ir_.CreateShl(ir_.CreateZExt(biased, i64), llvm::ConstantInt::get(i64, 52));
  return ir_.CreateBitCast(bits, n->getType()->getWithNewType(ir_.getDoubleTy()));
}

llvm::Value* HostMath::nearest_exponent(llvm::Value* x) {
  llvm::Value* bits = ir_.CreateBitCast(x, int_type(x));
  return ir_.CreateAShr(ir_.CreateSub(bits, integer(x, 0x3f3504f3)), integer(x, 23));
}

// 2 atanh(s) with s = f / (2 + f), |s| below 0.172: the term left out is below 1e-13 of the sum.
llvm::Value* HostMath::wide_log1p(llvm::Value* f) {
  llvm::Value* s = ir_.CreateFDiv(f, ir_.CreateFAdd(f, number(f, 2)));
  llvm::Value* series = polynomial(ir_.CreateFMul(s, s),
                                   {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15});
  return ir_.CreateFMul(s, series);
}

// Taylor's series: the term left out is below 1e-11 of the sum.
llvm::Value* HostMath::wide_expm1_over(llvm::Value* r) {
  return polynomial(r, {1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                        1.0 / 362880, 1.0 / 3628800});
}

llvm::Value* HostMath::log_scaled(llvm::Value* exponent, llvm::Value* x) {
  llvm::Value* n = nearest_exponent(x);
  llvm::Value* f = ir_.CreateFMul(widened(x), wide_power_of_two(ir_.CreateNeg(n)));
  llvm::Value* whole = ir_.CreateFAdd(widened(exponent), ir_.CreateSIToFP(n, f->getType()));
  llvm::Value* series = wide_log1p(ir_.CreateFSub(f, number(f, 1)));
  return log_limits(x, rounded(fma(whole, number(f, kLn2), series)));
}

// 1 + x = 2^n (1 + f); where n is 0, f is x itself, so that a small one loses nothing.
llvm::Value* HostMath::log1p(llvm::Value* x) {
  llvm::Value* positive = at_most(at_least(x, -0.99999994), std::numeric_limits<float>::max());
  llvm::Value* n = nearest_exponent(ir_.CreateFAdd(positive, number(x, 1)));
  llvm::Value* wide = widened(positive);
  llvm::Value* scale = wide_power_of_two(ir_.CreateNeg(n));
  llvm::Value* f = ir_.CreateFMul(ir_.CreateFAdd(wide, number(wide, 1)), scale);
  f = choose(ir_.CreateICmpEQ(n, integer(x, 0)), wide, ir_.CreateFSub(f, number(wide, 1)));
  llvm::Value* exponent = ir_.CreateSIToFP(n, wide->getType());
  llvm::Value* result = rounded(fma(exponent, number(wide, kLn2), wide_log1p(f)));
  result = choose(ir_.CreateFCmpOEQ(x, number(x, kInf)), x, result);
  result = choose(ir_.CreateFCmpOEQ(x, number(x, -1)), number(x, -kInf), result);
  return choose(ir_.CreateFCmpULT(x, number(x, -1)), llvm::ConstantFP::getNaN(x->getType()), result);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), where n is 0 the first term alone.
llvm::Value* HostMath::expm1(llvm::Value* x) {
  llvm::Value* bounded = at_most(at_least(x, -110), 110);
  llvm::Value* n = round(ir_.CreateFMul(bounded, number(x, kLog2e)));
  llvm::Value* power = wide_power_of_two(ir_.CreateFreeze(ir_.CreateFPToSI(n, int_type(x))));
  llvm::Value* r = fma(widened(n), number(power, -kLn2), widened(bounded));
  llvm::Value* rest = ir_.CreateFSub(power, number(power, 1));
  return rounded(fma(power, ir_.CreateFMul(r, wide_expm1_over(r)), rest));
}

llvm::Value* HostMath::atan(llvm::Value* x) { return atan2(x, number(x, 1)); }

// The angle in the first eighth of the circle, by the tangent t of the smaller side over the larger, from
// which 45 degrees are taken where t is above tan(22.5 degrees); then mirrored into place.
llvm::Value* HostMath::atan2(llvm::Value* y, llvm::Value* x) {
  llvm::Value *height = widened(abs(y)), *width = widened(abs(x));
  llvm::Value* is_steep = ir_.CreateFCmpOGT(height, width);
  llvm::Value* longer = choose(is_steep, height, width);
  llvm::Value* shorter = choose(is_steep, width, height);
  // Of two infinities the angle is 45 degrees, of two zeros 0.
  const auto is = [&](llvm::Value* value, double what) {
    return ir_.CreateFCmpOEQ(value, number(value, what));
  };
  llvm::Value* both_infinite = is(shorter, kInf);
  shorter = choose(both_infinite, number(shorter, 1), shorter);
  longer = choose(both_infinite, number(longer, 1), choose(is(longer, 0), number(longer, 1), longer));
  constexpr double kTanEighth = 0.41421356237309504880;
  llvm::Value* is_wide = ir_.CreateFCmpOGT(shorter, ir_.CreateFMul(longer, number(longer, kTanEighth)));
  llvm::Value* over = choose(is_wide, ir_.CreateFSub(shorter, longer), shorter);
  llvm::Value* under = choose(is_wide, ir_.CreateFAdd(shorter, longer), longer);
  // An infinite side under a finite one: 0, not infinity / infinity.
  llvm::Value* t = ir_.CreateFDiv(over, under);
  // |t| is at most 0.4143: the term left out is below 1e-11.
  llvm::Value* series =
      polynomial(ir_.CreateFMul(t, t), {1.0, -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13,
                                        -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23, 1.0 / 25});
  llvm::Value* angle = ir_.CreateFMul(t, series);
  const auto less = [&](double from) { return ir_.CreateFSub(number(angle, from), angle); };
  angle = choose(is_wide, ir_.CreateFAdd(angle, number(angle, kPi / 4)), angle);
  angle = choose(is_steep, less(kPi / 2), angle);
  llvm::Value* is_left = ir_.CreateICmpSLT(ir_.CreateBitCast(x, int_type(x)), integer(x, 0));
  angle = choose(is_left, less(kPi), angle);
  llvm::Value* result = ir_.CreateIntrinsic(llvm::Intrinsic::copysign, {x->getType()}, {rounded(angle), y});
  return choose(ir_.CreateFCmpUNO(x, y), llvm::ConstantFP::getNaN(x->getType()), result);
}

// |x|^y = 2^(y log2 |x|); the sign is y's business where x is negative.
llvm::Value* HostMath::pow(llvm::Value* x, llvm::Value* y) {
  llvm::Value* magnitude = abs(x);
  llvm::Value* is_tiny = ir_.CreateFCmpOLT(magnitude, number(x, 0x1p-126));
  llvm::Value* normal = choose(is_tiny, ir_.CreateFMul(magnitude, number(x, 0x1p+23)), magnitude);
  llvm::Value* n = nearest_exponent(normal);
  llvm::Value* mantissa = ir_.CreateFMul(widened(normal), wide_power_of_two(ir_.CreateNeg(n)));
  llvm::Value* f = ir_.CreateFSub(mantissa, number(mantissa, 1));
  llvm::Value* exponent =
      ir_.CreateSIToFP(ir_.CreateSub(n, choose(is_tiny, integer(x, 23), integer(x, 0))), f->getType());
  llvm::Value* log2 = fma(wide_log1p(f), number(f, kLog2e), exponent);
  log2 = choose(ir_.CreateFCmpOEQ(magnitude, number(x, 0)), number(f, -kInf), log2);
  log2 = choose(ir_.CreateFCmpOEQ(magnitude, number(x, kInf)), number(f, kInf), log2);

  llvm::Value* product = at_most(at_least(ir_.CreateFMul(widened(y), log2), -400), 400);
  llvm::Value* whole = round(product);
  llvm::Value* power = wide_power_of_two(ir_.CreateFreeze(ir_.CreateFPToSI(whole, int_type(x))));
  llvm::Value* r = ir_.CreateFMul(ir_.CreateFSub(product, whole), number(f, kLn2));
  llvm::Value* result = rounded(fma(ir_.CreateFMul(power, r), wide_expm1_over(r), power));
  // 1^y and (-1)^infinity.
  llvm::Value* is_one = ir_.CreateFCmpOEQ(magnitude, number(x, 1));
  llvm::Value* is_ordered = ir_.CreateFCmpORD(y, y);
  result = choose(ir_.CreateAnd(is_one, is_ordered), number(x, 1), result);

  const auto truncated = [&](llvm::Value* value) {
    return ir_.CreateIntrinsic(llvm::Intrinsic::trunc, {value->getType()}, {value});
  };
  llvm::Value* half = ir_.CreateFMul(y, number(y, 0.5));
  llvm::Value* is_integer = ir_.CreateFCmpOEQ(truncated(y), y);
  llvm::Value* is_odd = ir_.CreateAnd(is_integer, ir_.CreateFCmpUNE(truncated(half), half));
  llvm::Value* is_negative = ir_.CreateICmpSLT(ir_.CreateBitCast(x, int_type(x)), integer(x, 0));
  result = choose(ir_.CreateAnd(is_negative, is_odd), ir_.CreateFNeg(result), result);
  // A root of a negative number is none, but of -0 and -infinity.
  llvm::Value* is_plain =
      ir_.CreateAnd(ir_.CreateFCmpOLT(x, number(x, 0)), ir_.CreateFCmpONE(x, number(x, -kInf)));
  llvm::Value* is_root = ir_.CreateAnd(is_plain, ir_.CreateNot(is_integer));
  result = choose(is_root, llvm::ConstantFP::getNaN(x->getType()), result);
  llvm::Value* is_sure = ir_.CreateOr(ir_.CreateFCmpOEQ(x, number(x, 1)), ir_.CreateFCmpOEQ(y, number(y, 0)));
  return choose(is_sure, number(x, 1), result);
}

}  // namespace fa
