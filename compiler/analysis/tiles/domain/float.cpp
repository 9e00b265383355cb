// Intervals of f32. Where a bound known at compile time says that nothing overflows, nothing asks at run
// time.
#include <algorithm>
#include <cmath>

#include "compiler/analysis/tiles/domain/domain.h"
#include "compiler/ir/math/constants.h"

namespace fa {
namespace {

constexpr double kSurelyFinite = 1e37;
constexpr double kRounded = 0x1p-20;  // more than bounds in double differ from what f32 rounds them to

double lower(double x) { return std::isnan(x) ? -kInf : x - std::fabs(x) * kRounded; }
double upper(double x) { return std::isnan(x) ? kInf : x + std::fabs(x) * kRounded; }

}  // namespace

AbstractFloat Domain::to_float(const Range& x) const {
  return {.lo = builder_.CreateSIToFP(x.lo, builder_.getFloatTy()),
          .hi = builder_.CreateSIToFP(x.hi, builder_.getFloatTy()),
          .known = builder_.getTrue(),
          .min = lower(static_cast<double>(x.min)),
          .max = upper(static_cast<double>(x.max))};
}

AbstractFloat Domain::finite(AbstractFloat x) const {
  const auto bound = [&](bool negative) {
    return llvm::ConstantFP::getInfinity(builder_.getFloatTy(), negative);
  };
  if (!(x.min > -kSurelyFinite))
    x.known = builder_.CreateAnd(x.known, builder_.CreateFCmpOGT(x.lo, bound(true)));
  if (!(x.max < kSurelyFinite))
    x.known = builder_.CreateAnd(x.known, builder_.CreateFCmpOLT(x.hi, bound(false)));
  return x;
}

AbstractFloat Domain::with_margin(const AbstractFloat& x, double relative, double absolute,
                                  llvm::Value* but_where) const {
  const auto number = [&](double value) { return llvm::ConstantFP::get(builder_.getFloatTy(), value); };
  const auto margin = [&](llvm::Value* end) {
    llvm::Value* const magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, end);
    llvm::Value* const sum =
        builder_.CreateFAdd(builder_.CreateFMul(magnitude, number(relative)), number(absolute));
    return builder_.CreateSelect(but_where, number(0), sum);
  };
  return finite({.lo = builder_.CreateFSub(x.lo, margin(x.lo)),
                 .hi = builder_.CreateFAdd(x.hi, margin(x.hi)),
                 .known = x.known,
                 .min = lower(x.min - std::fabs(x.min) * relative - absolute),
                 .max = upper(x.max + std::fabs(x.max) * relative + absolute)});
}

AbstractFloat Domain::negate(const AbstractFloat& x) const {
  return {.lo = builder_.CreateFNeg(x.hi),
          .hi = builder_.CreateFNeg(x.lo),
          .known = x.known,
          .min = -x.max,
          .max = -x.min};
}

AbstractFloat Domain::add(const AbstractFloat& x, const AbstractFloat& y) const {
  return finite({.lo = builder_.CreateFAdd(x.lo, y.lo),
                 .hi = builder_.CreateFAdd(x.hi, y.hi),
                 .known = builder_.CreateAnd(x.known, y.known),
                 .min = lower(x.min + y.min),
                 .max = upper(x.max + y.max)});
}

AbstractFloat Domain::product(const AbstractFloat& x, const AbstractFloat& y, bool divides) const {
  AbstractFloat result{.lo = nullptr, .hi = nullptr, .known = builder_.CreateAnd(x.known, y.known)};
  const bool has_zero = divides && !(y.min > 0 || y.max < 0);
  if (has_zero) {
    llvm::Value* const zero = llvm::ConstantFP::get(builder_.getFloatTy(), 0.0);
    llvm::Value* const one_sign =
        builder_.CreateOr(builder_.CreateFCmpOGT(y.lo, zero), builder_.CreateFCmpOLT(y.hi, zero));
    result.known = builder_.CreateAnd(result.known, one_sign);
  } else {
    const auto of = [&](double a, double b) { return divides ? a / b : a * b; };
    const double corners[] = {of(x.min, y.min), of(x.min, y.max), of(x.max, y.min), of(x.max, y.max)};
    if (std::none_of(std::begin(corners), std::end(corners), [](double c) { return std::isnan(c); })) {
      result.min = lower(*std::min_element(std::begin(corners), std::end(corners)));
      result.max = upper(*std::max_element(std::begin(corners), std::end(corners)));
    }
  }
  const auto of = [&](llvm::Value* a, llvm::Value* b) {
    return divides ? builder_.CreateFDiv(a, b) : builder_.CreateFMul(a, b);
  };
  const auto end = [&](llvm::Intrinsic::ID id, llvm::Value* a, llvm::Value* b) {
    return builder_.CreateBinaryIntrinsic(id, a, b);
  };
  if (y.lo == y.hi) {
    llvm::Value* const a = of(x.lo, y.lo);
    llvm::Value* const b = x.lo == x.hi ? a : of(x.hi, y.lo);
    const bool rises = y.min >= 0, falls = y.max <= 0;
    result.lo = rises ? a : falls ? b : end(llvm::Intrinsic::minnum, a, b);
    result.hi = rises ? b : falls ? a : end(llvm::Intrinsic::maxnum, a, b);
  } else {
    llvm::Value* const corners[] = {of(x.lo, y.lo), of(x.lo, y.hi), of(x.hi, y.lo), of(x.hi, y.hi)};
    const auto extremum = [&](llvm::Intrinsic::ID id) {
      return end(id, end(id, corners[0], corners[1]), end(id, corners[2], corners[3]));
    };
    result.lo = extremum(llvm::Intrinsic::minnum);
    result.hi = extremum(llvm::Intrinsic::maxnum);
  }
  return finite(result);
}

AbstractFloat Domain::minimum(const AbstractFloat& x, const AbstractFloat& y) const {
  return negate(maximum(negate(x), negate(y)));
}

AbstractFloat Domain::maximum(const AbstractFloat& x, const AbstractFloat& y) const {
  return {.lo = builder_.CreateMaxNum(x.lo, y.lo),
          .hi = builder_.CreateMaxNum(x.hi, y.hi),
          .known = builder_.CreateAnd(x.known, y.known),
          .min = std::max(x.min, y.min),
          .max = std::max(x.max, y.max)};
}

AbstractFloat Domain::select(const AbstractBool& condition, const AbstractFloat& x,
                             const AbstractFloat& y) const {
  llvm::Value* const both = builder_.CreateAnd(condition.may_be_true, condition.may_be_false);
  const auto pick = [&](llvm::Value* first, llvm::Value* second, llvm::Value* of_both) {
    return builder_.CreateSelect(both, of_both, builder_.CreateSelect(condition.may_be_true, first, second));
  };
  return {.lo = pick(x.lo, y.lo, builder_.CreateMinNum(x.lo, y.lo)),
          .hi = pick(x.hi, y.hi, builder_.CreateMaxNum(x.hi, y.hi)),
          .known = pick(x.known, y.known, builder_.CreateAnd(x.known, y.known)),
          .min = std::min(x.min, y.min),
          .max = std::max(x.max, y.max)};
}

AbstractBool Domain::less(const AbstractFloat& x, const AbstractFloat& y, bool or_equal) const {
  llvm::Value* const unknown = builder_.CreateNot(builder_.CreateAnd(x.known, y.known));
  const auto may = [&](llvm::Value* condition) { return builder_.CreateOr(unknown, condition); };
  if (or_equal) return {may(builder_.CreateFCmpOLE(x.lo, y.hi)), may(builder_.CreateFCmpOGT(x.hi, y.lo))};
  return {may(builder_.CreateFCmpOLT(x.lo, y.hi)), may(builder_.CreateFCmpOGE(x.hi, y.lo))};
}

AbstractBool Domain::equal(const AbstractFloat& x, const AbstractFloat& y) const {
  llvm::Value* const known = builder_.CreateAnd(x.known, y.known);
  llvm::Value* const meet =
      builder_.CreateAnd(builder_.CreateFCmpOLE(x.lo, y.hi), builder_.CreateFCmpOLE(y.lo, x.hi));
  llvm::Value* const same =
      builder_.CreateAnd(builder_.CreateFCmpOGE(x.lo, y.hi), builder_.CreateFCmpOGE(y.lo, x.hi));
  return {builder_.CreateOr(builder_.CreateNot(known), meet),
          builder_.CreateNot(builder_.CreateAnd(known, builder_.CreateAnd(meet, same)))};
}

}  // namespace fa
