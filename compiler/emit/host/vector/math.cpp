// exp2, log2 and their relatives. Polynomials are minimax fits on the reduced range; each function says where
// its coefficients come from, and tests/compiler/emit/host_math.cpp measures the error over the whole range.
#include "compiler/emit/host/vector/math.h"
#include "compiler/ir/math/constants.h"

namespace fa {
llvm::Value* HostMath::number(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Type* HostMath::int_type(llvm::Value* like) {
  return like->getType()->getWithNewType(ir_.getInt32Ty());
}

llvm::Value* HostMath::integer(llvm::Value* like, std::int64_t value) {
  return llvm::ConstantInt::get(int_type(like), static_cast<std::uint64_t>(value), true);
}

llvm::Value* HostMath::fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return ir_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

llvm::Value* HostMath::polynomial(llvm::Value* x, std::initializer_list<double> low_to_high) {
  const double* at = low_to_high.end() - 1;
  llvm::Value* sum = number(x, *at);
  while (at != low_to_high.begin()) sum = fma(sum, x, number(x, *--at));
  return sum;
}

llvm::Value* HostMath::at_least(llvm::Value* x, double bound) {
  return ir_.CreateSelect(ir_.CreateFCmpOLT(x, number(x, bound)), number(x, bound), x);
}

llvm::Value* HostMath::at_most(llvm::Value* x, double bound) {
  return ir_.CreateSelect(ir_.CreateFCmpOGT(x, number(x, bound)), number(x, bound), x);
}

llvm::Value* HostMath::round(llvm::Value* x) {
  return ir_.CreateIntrinsic(llvm::Intrinsic::rint, {x->getType()}, {x});
}

llvm::Value* HostMath::abs(llvm::Value* x) {
  return ir_.CreateIntrinsic(llvm::Intrinsic::fabs, {x->getType()}, {x});
}

bool HostMath::has_scalef(const llvm::Type& type) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
  return cpu_.avx512 && vector != nullptr && vector->getNumElements() == 16;
}

llvm::Value* HostMath::power_of_two(llvm::Value* exponent, llvm::Type* type) {
  return ir_.CreateBitCast(
      ir_.CreateShl(ir_.CreateAdd(exponent, llvm::ConstantInt::get(exponent->getType(), 127)),
                    llvm::ConstantInt::get(exponent->getType(), 23)),
      type);
}

llvm::Value* HostMath::scale_by(llvm::Value* x, llvm::Value* n) {
  if (has_scalef(*x->getType()))
    return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                               {x, n, x, ir_.getInt16(-1), ir_.getInt32(4)});
  // Two steps, so that neither factor leaves the normal range and the last one rounds once. A NaN's n is
  // arbitrary.
  llvm::Value* whole = ir_.CreateFreeze(ir_.CreateFPToSI(n, int_type(x)));
  llvm::Value* half = ir_.CreateAShr(whole, integer(x, 1));
  llvm::Value* rest = ir_.CreateSub(whole, half);
  return ir_.CreateFMul(ir_.CreateFMul(x, power_of_two(half, x->getType())),
                        power_of_two(rest, x->getType()));
}

// 2^f on [-1/2, 1/2], degree 6, relative error 2e-9 before rounding.
llvm::Value* HostMath::exp2(llvm::Value* x) {
  x = at_most(at_least(x, -200), 200);
  llvm::Value* n = round(x);
  return scale_by(
      polynomial(ir_.CreateFSub(x, n), {1.0, 0.6931472057371958, 0.24022646890645522, 0.05550328777105325,
                                        0.009618488956331182, 0.0013399931177239738, 0.00015345812161311629}),
      n);
}

// Lanes that would underflow are left out of the scaling: on Intel's CPUs one of them, and a masked score is one, costs the vector
// a hundred cycles and more of microcode.
llvm::Value* HostMath::scale_normal(llvm::Value* x, llvm::Value* n, llvm::Value* exponent) {
  llvm::Value* is_normal = ir_.CreateFCmpUGE(exponent, number(exponent, -126));
  if (has_scalef(*x->getType()))
    return ir_.CreateIntrinsic(
        llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
        {x, n, number(x, 0), ir_.CreateBitCast(is_normal, ir_.getInt16Ty()), ir_.getInt32(4)});
  llvm::Value* whole = ir_.CreateFreeze(ir_.CreateFPToSI(n, int_type(x)));
  return ir_.CreateSelect(is_normal, ir_.CreateFMul(x, power_of_two(whole, x->getType())), number(x, 0));
}

// Degree 4 by Remez' algorithm, for the least relative error on [-1/2, 1/2]. A sum with 1.5 * 2^23 is a whole number: two additions,
// which a CPU does beside tile products, where an instruction that rounds waits for their unit.
llvm::Value* HostMath::exp2_in_16_bits(llvm::Value* x) {
  llvm::Value* to_whole = number(x, 0x1.8p23);
  llvm::Value* n = ir_.CreateFSub(ir_.CreateFAdd(x, to_whole), to_whole);
  llvm::Value* power =
      polynomial(ir_.CreateFSub(x, n), {0.999999261445712, 0.6931218147366899, 0.24024744827864145,
                                        0.055917860319385004, 0.009570101911150505});
  return scale_normal(power, n, x);
}

llvm::Value* HostMath::exp2_nonpositive(llvm::Value* x) {
  const bool scalef = has_scalef(*x->getType());
  if (!scalef) x = at_least(x, -127);
  llvm::Value* n = round(x);
  llvm::Value* power =
      polynomial(ir_.CreateFSub(x, n), {1.0, 0.6931472057371958, 0.24022646890645522, 0.05550328777105325,
                                        0.009618488956331182, 0.0013399931177239738, 0.00015345812161311629});
  if (scalef) return scale_normal(power, n, x);
  llvm::Value* whole = ir_.CreateFreeze(ir_.CreateFPToSI(n, int_type(x)));
  return ir_.CreateFMul(power, power_of_two(whole, x->getType()));
}

// e^r on +-log(2)/2, degree 6; log(2) in two parts whose first has room for n exactly.
llvm::Value* HostMath::exp(llvm::Value* x) {
  x = at_most(at_least(x, -140), 140);
  llvm::Value* n = round(ir_.CreateFMul(x, number(x, 1.4426950408889634)));
  llvm::Value* r = fma(n, number(x, -0.693145752), x);
  r = fma(n, number(x, -1.42860677e-6), r);
  return scale_by(polynomial(r, {1.0, 1.0000000363230943, 0.499999920798404, 0.1666642017026965,
                                 0.041668225566092766, 0.008374815778155631, 0.0013836846136895651}),
                  n);
}

// Cephes' logf: x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2).
HostMath::LogParts HostMath::log_parts(llvm::Value* x) {
  llvm::Value* tiny = ir_.CreateFCmpOLT(x, number(x, 0x1p-126));
  llvm::Value* normal = ir_.CreateSelect(tiny, ir_.CreateFMul(x, number(x, 0x1p+23)), x);
  llvm::Value* bits = ir_.CreateBitCast(normal, int_type(x));
  llvm::Value* e = ir_.CreateAShr(ir_.CreateSub(bits, integer(x, 0x3f3504f3)), integer(x, 23));
  llvm::Value* mantissa =
      ir_.CreateBitCast(ir_.CreateSub(bits, ir_.CreateShl(e, integer(x, 23))), x->getType());
  llvm::Value* f = ir_.CreateFSub(mantissa, number(x, 1));
  llvm::Value* exponent = ir_.CreateSIToFP(e, x->getType());
  exponent = ir_.CreateSelect(tiny, ir_.CreateFSub(exponent, number(x, 23)), exponent);
  llvm::Value* square = ir_.CreateFMul(f, f);
  llvm::Value* y =
      polynomial(f, {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1, 1.4249322787e-1,
                     -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2});
  y = ir_.CreateFMul(ir_.CreateFMul(y, f), square);
  return {.fraction = f, .correction = fma(square, number(x, -0.5), y), .exponent = exponent};
}

llvm::Value* HostMath::log_limits(llvm::Value* x, llvm::Value* result) {
  result = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(x, kInf)), x, result);
  result = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(x, 0)), number(x, -kInf), result);
  llvm::Value* bad = ir_.CreateFCmpULT(x, number(x, 0));
  return ir_.CreateSelect(bad, llvm::ConstantFP::getNaN(x->getType()), result);
}

llvm::Value* HostMath::log(llvm::Value* x) {
  const LogParts parts = log_parts(x);
  llvm::Value* y = fma(parts.exponent, number(x, -2.12194440e-4), parts.correction);
  return log_limits(x, fma(parts.exponent, number(x, 0.693359375), ir_.CreateFAdd(parts.fraction, y)));
}

llvm::Value* HostMath::log2(llvm::Value* x) {
  const LogParts parts = log_parts(x);
  llvm::Value* rest = number(x, 0.44269504088896340736);  // log2(e) - 1
  llvm::Value* sum = ir_.CreateFMul(parts.correction, rest);
  sum = fma(parts.fraction, rest, sum);
  sum = ir_.CreateFAdd(ir_.CreateFAdd(sum, parts.correction), parts.fraction);
  return log_limits(x, ir_.CreateFAdd(sum, parts.exponent));
}

// Near 0 an odd polynomial (Juffa), elsewhere 1 - 2 / (e^2|x| + 1).
llvm::Value* HostMath::tanh(llvm::Value* x) {
  llvm::Value* magnitude = abs(x);
  llvm::Value* grown =
      ir_.CreateFAdd(exp(ir_.CreateFMul(at_most(magnitude, 20), number(x, 2))), number(x, 1));
  llvm::Value* large = ir_.CreateFSub(number(x, 1), ir_.CreateFDiv(number(x, 2), grown));
  large = ir_.CreateIntrinsic(llvm::Intrinsic::copysign, {x->getType()}, {large, x});
  llvm::Value* square = ir_.CreateFMul(x, x);
  llvm::Value* small = polynomial(square, {-3.33327681e-1, 1.33152977e-1, -5.23025580e-2, 1.57394409e-2});
  small = fma(ir_.CreateFMul(small, square), x, x);
  return ir_.CreateSelect(ir_.CreateFCmpOLT(magnitude, number(x, 0.55)), small, large);
}

llvm::Value* HostMath::sigmoid(llvm::Value* x) {
  return ir_.CreateFDiv(number(x, 1), ir_.CreateFAdd(exp(ir_.CreateFNeg(x)), number(x, 1)));
}

// Juffa's erff: an odd polynomial up to 0.9277, beyond it 1 - e^p(|x|).
llvm::Value* HostMath::erf(llvm::Value* x) {
  llvm::Value* t = at_most(abs(x), 4);
  llvm::Value* p = polynomial(t, {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2,
                                  -3.88396438e-3, 3.83197126e-4, -1.72853470e-5});
  llvm::Value* large = ir_.CreateFSub(number(x, 1), exp(fma(p, t, ir_.CreateFNeg(t))));
  large = ir_.CreateIntrinsic(llvm::Intrinsic::copysign, {x->getType()}, {large, x});
  llvm::Value* small = polynomial(ir_.CreateFMul(x, x), {1.28379166e-1, -3.76125336e-1, 1.12819925e-1,
                                                         -2.67681349e-2, 4.99119423e-3, -5.96761703e-4});
  small = fma(small, x, x);
  return ir_.CreateSelect(ir_.CreateFCmpOGT(abs(x), number(x, 0.927734375)), large, small);
}

llvm::Value* HostMath::rsqrt(llvm::Value* x) {
  llvm::Value* root = ir_.CreateIntrinsic(llvm::Intrinsic::sqrt, {x->getType()}, {x});
  return ir_.CreateFDiv(number(x, 1), root);
}

llvm::Value* HostMath::to_i32(llvm::Value* x) {
  // 2^31 does not fit, 2^31 - 128 is the largest float that does.
  llvm::Value* inside = at_most(at_least(x, -2147483648.0), 2147483520.0);
  llvm::Value* whole = ir_.CreateFreeze(ir_.CreateFPToSI(inside, int_type(x)));
  whole = ir_.CreateSelect(ir_.CreateFCmpOGE(x, number(x, 2147483648.0)), integer(x, 2147483647), whole);
  return ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), integer(x, 0), whole);
}

}  // namespace fa
