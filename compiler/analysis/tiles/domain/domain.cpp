#include "compiler/analysis/tiles/domain/domain.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/hook_ir.h"

namespace fa {
namespace {

// Beyond this a coefficient is not worth keeping, and coefficient * index stays far from the ends of i64.
constexpr std::int64_t kMaxCoefficient = std::int64_t{1} << 30;

bool is_constant(const AbstractInt& x, std::int64_t& value) {
  value = x.min;
  return x.min == x.max;
}

}  // namespace

Box Domain::tile(llvm::IRBuilder<>& builder, llvm::Value* q_lo, llvm::Value* q_hi, llvm::Value* kv_lo,
                 llvm::Value* kv_hi) {
  const auto wide = [&](llvm::Value* value) { return builder.CreateSExt(value, builder.getInt64Ty()); };
  return {.q_lo = wide(q_lo), .q_hi = wide(q_hi), .kv_lo = wide(kv_lo), .kv_hi = wide(kv_hi)};
}

llvm::Value* Domain::i64(std::int64_t value) const {
  return builder_.getInt64(static_cast<std::uint64_t>(value));
}

llvm::Value* Domain::widen(llvm::Value* value) const {
  return builder_.CreateSExt(value, builder_.getInt64Ty());
}

llvm::Value* Domain::min(llvm::Value* x, llvm::Value* y) const {
  return extremum(llvm::Intrinsic::smin, x, y);
}

llvm::Value* Domain::max(llvm::Value* x, llvm::Value* y) const {
  return extremum(llvm::Intrinsic::smax, x, y);
}

llvm::Value* Domain::extremum(llvm::Intrinsic::ID id, llvm::Value* x, llvm::Value* y) const {
  if (x == y) return x;
  // The builder leaves intrinsics of constants alone.
  const auto* a = llvm::dyn_cast<llvm::ConstantInt>(x);
  const auto* b = llvm::dyn_cast<llvm::ConstantInt>(y);
  if (a != nullptr && b != nullptr) {
    const bool less = a->getSExtValue() < b->getSExtValue();
    return less == (id == llvm::Intrinsic::smin) ? x : y;
  }
  return builder_.CreateBinaryIntrinsic(id, x, y);
}

AbstractInt Domain::constant(std::int64_t value) const {
  return {.q = 0, .kv = 0, .rest = {i64(value), i64(value), value, value}, .min = value, .max = value};
}

AbstractInt Domain::q_idx() const {
  return {.q = 1, .kv = 0, .rest = {i64(0), i64(0), 0, 0}, .min = 0, .max = kMaxLength - 1};
}

AbstractInt Domain::kv_idx() const {
  return {.q = 0, .kv = 1, .rest = {i64(0), i64(0), 0, 0}, .min = 0, .max = kMaxLength - 1};
}

AbstractInt Domain::point(llvm::Value* i32, std::int64_t min, std::int64_t max) const {
  return interval(i32, i32, min, max);
}

AbstractInt Domain::interval(llvm::Value* lo, llvm::Value* hi, std::int64_t min, std::int64_t max) const {
  llvm::Value* wide_lo = widen(lo);
  llvm::Value* wide_hi = lo == hi ? wide_lo : widen(hi);
  return {.q = 0, .kv = 0, .rest = {wide_lo, wide_hi, min, max}, .min = min, .max = max};
}

AbstractInt Domain::anything(std::int64_t min, std::int64_t max) const {
  return interval(i64(min), i64(max), min, max);
}

Range Domain::range(const AbstractInt& x) const {
  Range range = x.rest;
  const auto add_term = [&](std::int64_t coefficient, llvm::Value* lo, llvm::Value* hi) {
    if (coefficient == 0) return;
    if (coefficient < 0) std::swap(lo, hi);
    range.lo = builder_.CreateNSWAdd(range.lo, builder_.CreateNSWMul(lo, i64(coefficient)));
    range.hi = builder_.CreateNSWAdd(range.hi, builder_.CreateNSWMul(hi, i64(coefficient)));
  };
  if (x.q == -x.kv && box_.d_lo != nullptr) {
    add_term(x.q, box_.d_lo, box_.d_hi);
  } else {
    add_term(x.q, box_.q_lo, box_.q_hi);
    add_term(x.kv, box_.kv_lo, box_.kv_hi);
  }
  range.min = x.min;
  range.max = x.max;
  return range;
}

llvm::Value* Domain::is_point(const AbstractInt& x) const {
  const Range r = range(x);
  return r.lo == r.hi ? builder_.getTrue() : builder_.CreateICmpEQ(r.lo, r.hi);
}

AbstractInt Domain::wrapped(AbstractInt x, bool cannot_wrap) const {
  if (cannot_wrap) {
    x.min = std::max(x.min, kI32Min);
    x.max = std::min(x.max, kI32Max);
  }
  const bool fits = x.min >= kI32Min && x.max <= kI32Max;
  const bool small = std::abs(x.q) <= kMaxCoefficient && std::abs(x.kv) <= kMaxCoefficient;
  if (fits && small) return x;
  Range r = range(x);
  if (!fits) {
    llvm::Value* wraps = builder_.CreateOr(builder_.CreateICmpSLT(r.lo, i64(kI32Min)),
                                           builder_.CreateICmpSGT(r.hi, i64(kI32Max)));
    r.lo = builder_.CreateSelect(wraps, i64(kI32Min), r.lo);
    r.hi = builder_.CreateSelect(wraps, i64(kI32Max), r.hi);
    r.min = kI32Min;  // what wraps may come out anywhere
    r.max = kI32Max;
  }
  return {.q = 0, .kv = 0, .rest = r, .min = r.min, .max = r.max};
}

AbstractInt Domain::add(const AbstractInt& x, const AbstractInt& y, bool cannot_wrap) const {
  AbstractInt sum{.q = x.q + y.q, .kv = x.kv + y.kv, .rest = {}, .min = x.min + y.min, .max = x.max + y.max};
  sum.rest.lo = builder_.CreateNSWAdd(x.rest.lo, y.rest.lo);
  sum.rest.hi = x.rest.lo == x.rest.hi && y.rest.lo == y.rest.hi
                    ? sum.rest.lo
                    : builder_.CreateNSWAdd(x.rest.hi, y.rest.hi);
  return wrapped(sum, cannot_wrap);
}

AbstractInt Domain::subtract(const AbstractInt& x, const AbstractInt& y, bool cannot_wrap) const {
  return wrapped(difference(x, y), cannot_wrap);
}

AbstractInt Domain::difference(const AbstractInt& x, const AbstractInt& y) const {
  AbstractInt result{
      .q = x.q - y.q, .kv = x.kv - y.kv, .rest = {}, .min = x.min - y.max, .max = x.max - y.min};
  result.rest.lo = builder_.CreateNSWSub(x.rest.lo, y.rest.hi);
  result.rest.hi = x.rest.lo == x.rest.hi && y.rest.lo == y.rest.hi
                       ? result.rest.lo
                       : builder_.CreateNSWSub(x.rest.hi, y.rest.lo);
  return result;
}

AbstractInt Domain::multiply(const AbstractInt& x, const AbstractInt& y, bool cannot_wrap) const {
  std::int64_t factor = 0;
  if (is_constant(x, factor))
    return is_constant(y, factor) ? constant(x.min * y.min) : multiply(y, x, cannot_wrap);
  const auto corner = [](std::int64_t a, std::int64_t b) { return a * b; };
  const auto [low, high] =
      std::minmax({corner(x.min, y.min), corner(x.min, y.max), corner(x.max, y.min), corner(x.max, y.max)});
  AbstractInt product{.q = 0, .kv = 0, .rest = {}, .min = low, .max = high};
  if (is_constant(y, factor) && std::abs(factor) <= kMaxCoefficient) {
    product.q = x.q * factor;
    product.kv = x.kv * factor;
    product.rest.lo = builder_.CreateNSWMul(factor < 0 ? x.rest.hi : x.rest.lo, i64(factor));
    product.rest.hi = x.rest.lo == x.rest.hi
                          ? product.rest.lo
                          : builder_.CreateNSWMul(factor < 0 ? x.rest.lo : x.rest.hi, i64(factor));
  } else {
    const Range a = range(x);
    const Range b = range(y);
    llvm::Value* corners[] = {builder_.CreateMul(a.lo, b.lo), builder_.CreateMul(a.lo, b.hi),
                              builder_.CreateMul(a.hi, b.lo), builder_.CreateMul(a.hi, b.hi)};
    product.rest.lo = min(min(corners[0], corners[1]), min(corners[2], corners[3]));
    product.rest.hi = max(max(corners[0], corners[1]), max(corners[2], corners[3]));
  }
  return wrapped(product, cannot_wrap);
}

AbstractInt Domain::divide(const AbstractInt& x, llvm::Value* divisor, std::int64_t low,
                           std::int64_t high) const {
  // Monotone, rising or falling with the divisor's sign.
  const Range r = range(x);
  llvm::Value* wide = widen(divisor);
  llvm::Value* first = builder_.CreateSDiv(r.lo, wide);
  llvm::Value* last = builder_.CreateSDiv(r.hi, wide);
  if (low < 1) {
    const std::int64_t reach = std::max(std::abs(r.min), std::abs(r.max));
    return interval(min(first, last), max(first, last), std::max(-reach, kI32Min), std::min(reach, kI32Max));
  }
  return interval(first, last, std::min(r.min / low, r.min / high), std::max(r.max / low, r.max / high));
}

AbstractInt Domain::remainder(const AbstractInt& x, llvm::Value* divisor, std::int64_t low,
                              std::int64_t high) const {
  if (x.min >= 0 && x.max < low) return x;
  // Where the quotient stays the same the remainder rises with x; a range that crosses into the next period
  // may take every value of x's sign.
  const Range r = range(x);
  llvm::Value* wide = widen(divisor);
  llvm::Value* first = builder_.CreateSDiv(r.lo, wide);
  llvm::Value* same = builder_.CreateICmpEQ(first, builder_.CreateSDiv(r.hi, wide));
  llvm::Value* base = builder_.CreateMul(first, wide);
  llvm::Value* magnitude = low >= 1 ? wide : max(wide, builder_.CreateNeg(wide));
  llvm::Value* largest = builder_.CreateSub(magnitude, i64(1));
  llvm::Value* lowest = r.min >= 0 ? i64(0)
                                   : builder_.CreateSelect(builder_.CreateICmpSLT(r.lo, i64(0)),
                                                           builder_.CreateNeg(largest), i64(0));
  llvm::Value* highest = builder_.CreateSelect(builder_.CreateICmpSGT(r.hi, i64(0)), largest, i64(0));
  const std::int64_t reach = std::max(std::abs(low), std::abs(high)) - 1;
  return interval(builder_.CreateSelect(same, builder_.CreateSub(r.lo, base), lowest),
                  builder_.CreateSelect(same, builder_.CreateSub(r.hi, base), highest),
                  r.min >= 0 ? 0 : -reach, std::min(reach, std::max<std::int64_t>(r.max, 0)));
}

llvm::Value* Domain::floor_quotient(llvm::Value* x, llvm::Value* y) const {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(y);
  if (constant != nullptr && constant->getValue().isPowerOf2())
    return builder_.CreateAShr(x, i64(constant->getValue().logBase2()));
  llvm::Value* truncated = builder_.CreateSDiv(x, y);
  llvm::Value* left = builder_.CreateNSWSub(x, builder_.CreateNSWMul(truncated, y));
  return builder_.CreateNSWAdd(
      truncated, builder_.CreateSExt(builder_.CreateICmpSLT(left, i64(0)), builder_.getInt64Ty()));
}

AbstractInt Domain::floor_divide(const AbstractInt& x, std::int64_t divisor) const {
  const Range r = range(x);
  const auto down = [&](std::int64_t value) { return value / divisor - (value % divisor < 0 ? 1 : 0); };
  return interval(floor_quotient(r.lo, i64(divisor)), floor_quotient(r.hi, i64(divisor)), down(r.min),
                  down(r.max));
}

AbstractInt Domain::floor_mod(const AbstractInt& x, std::int64_t divisor) const {
  if (x.min >= 0 && x.max < divisor) return x;
  const Range r = range(x);
  llvm::Value* first = floor_quotient(r.lo, i64(divisor));
  llvm::Value* same = builder_.CreateICmpEQ(first, floor_quotient(r.hi, i64(divisor)));
  llvm::Value* base = builder_.CreateNSWMul(first, i64(divisor));
  return interval(builder_.CreateSelect(same, builder_.CreateNSWSub(r.lo, base), i64(0)),
                  builder_.CreateSelect(same, builder_.CreateNSWSub(r.hi, base), i64(divisor - 1)), 0,
                  divisor - 1);
}

AbstractInt Domain::shift_right(const AbstractInt& x, int bits) const {
  const Range r = range(x);
  return interval(builder_.CreateAShr(r.lo, i64(bits)), builder_.CreateAShr(r.hi, i64(bits)), r.min >> bits,
                  r.max >> bits);
}

AbstractInt Domain::align_down(const AbstractInt& x, int bits) const {
  const Range r = range(x);
  const std::int64_t mask = -(std::int64_t{1} << bits);
  return interval(builder_.CreateAnd(r.lo, i64(mask)), builder_.CreateAnd(r.hi, i64(mask)), r.min & mask,
                  r.max & mask);
}

AbstractInt Domain::minimum(const AbstractInt& x, const AbstractInt& y) const {
  const Range a = range(x);
  const Range b = range(y);
  return interval(min(a.lo, b.lo), min(a.hi, b.hi), std::min(a.min, b.min), std::min(a.max, b.max));
}

AbstractInt Domain::maximum(const AbstractInt& x, const AbstractInt& y) const {
  const Range a = range(x);
  const Range b = range(y);
  return interval(max(a.lo, b.lo), max(a.hi, b.hi), std::max(a.min, b.min), std::max(a.max, b.max));
}

AbstractInt Domain::absolute(const AbstractInt& x) const {
  const Range r = range(x);
  llvm::Value* negated_lo = builder_.CreateNSWNeg(r.lo);
  llvm::Value* negated_hi = builder_.CreateNSWNeg(r.hi);
  // i32 abs wraps at INT_MIN alone.
  AbstractInt result{.q = 0,
                     .kv = 0,
                     .rest = {max(i64(0), max(r.lo, negated_hi)), max(r.hi, negated_lo), 0, 0},
                     .min = r.min > 0 ? r.min : (r.max < 0 ? -r.max : 0),
                     .max = std::max(std::abs(r.min), std::abs(r.max))};
  return wrapped(result, false);
}

AbstractInt Domain::select(const AbstractBool& condition, const AbstractInt& x, const AbstractInt& y) const {
  AbstractInt result{
      .q = 0, .kv = 0, .rest = {}, .min = std::min(x.min, y.min), .max = std::max(x.max, y.max)};
  Range a = x.rest;
  Range b = y.rest;
  if (x.q == y.q && x.kv == y.kv) {
    result.q = x.q;
    result.kv = x.kv;
  } else {
    a = range(x);
    b = range(y);
  }
  const auto pick = [&](llvm::Value* first, llvm::Value* second, llvm::Value* both) {
    llvm::Value* not_both = builder_.CreateSelect(condition.may_be_true, first, second);
    return builder_.CreateSelect(builder_.CreateAnd(condition.may_be_true, condition.may_be_false), both,
                                 not_both);
  };
  result.rest.lo = pick(a.lo, b.lo, min(a.lo, b.lo));
  result.rest.hi = pick(a.hi, b.hi, max(a.hi, b.hi));
  return result;
}

AbstractInt Domain::exact_where(llvm::Value* known, llvm::Value* exact, std::int64_t min,
                                std::int64_t max) const {
  llvm::Value* wide = widen(exact);
  return interval(builder_.CreateSelect(known, wide, i64(min)), builder_.CreateSelect(known, wide, i64(max)),
                  min, max);
}

AbstractBool Domain::less(const AbstractInt& x, const AbstractInt& y) const {
  // The difference is taken in i64, where it cannot wrap: shared terms of q_idx and kv_idx cancel.
  if (x.max < y.min) return known(builder_.getTrue());
  if (x.min >= y.max) return known(builder_.getFalse());
  const AbstractInt gap = difference(x, y);
  const Range r = range(gap);
  return {builder_.CreateICmpSLT(r.lo, i64(0)), builder_.CreateICmpSGE(r.hi, i64(0))};
}

AbstractBool Domain::equal(const AbstractInt& x, const AbstractInt& y) const {
  if (x.max < y.min || y.max < x.min) return known(builder_.getFalse());
  const AbstractInt gap = difference(x, y);
  const Range r = range(gap);
  llvm::Value* zero_inside =
      builder_.CreateAnd(builder_.CreateICmpSLE(r.lo, i64(0)), builder_.CreateICmpSGE(r.hi, i64(0)));
  llvm::Value* always_zero =
      builder_.CreateAnd(builder_.CreateICmpEQ(r.lo, i64(0)), builder_.CreateICmpEQ(r.hi, i64(0)));
  const std::int64_t step = std::gcd(gap.q, gap.kv);
  if (step > 1) {  // both terms are multiples of the step, so the rest must be one too
    llvm::Value* exact = builder_.CreateICmpEQ(gap.rest.lo, gap.rest.hi);
    llvm::Value* off = builder_.CreateICmpNE(builder_.CreateSRem(gap.rest.lo, i64(step)), i64(0));
    zero_inside = builder_.CreateAnd(zero_inside, builder_.CreateNot(builder_.CreateAnd(exact, off)));
  }
  return {zero_inside, builder_.CreateNot(always_zero)};
}

AbstractBool Domain::congruent(const AbstractInt& x, const AbstractInt& y, llvm::Value* modulus) const {
  AbstractInt gap = difference(x, y);
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(modulus)) {
    // Terms that are multiples of the modulus change nothing.
    const std::int64_t step = constant->getSExtValue();
    if (step == 1) return known(builder_.getTrue());
    if (gap.q % step == 0 && gap.kv % step == 0) gap.q = gap.kv = 0;
  }
  const Range r = range(gap);
  // The largest multiple that is not above the range lies in it, unless none does.
  llvm::Value* multiple = builder_.CreateNSWMul(floor_quotient(r.hi, modulus), modulus);
  llvm::Value* inside = builder_.CreateICmpSGE(multiple, r.lo);
  llvm::Value* everywhere = builder_.CreateOr(builder_.CreateAnd(builder_.CreateICmpEQ(r.lo, r.hi), inside),
                                              builder_.CreateICmpEQ(modulus, i64(1)));
  return {inside, builder_.CreateNot(everywhere)};
}

AbstractBool Domain::not_(const AbstractBool& x) const { return {x.may_be_false, x.may_be_true}; }

AbstractBool Domain::and_(const AbstractBool& x, const AbstractBool& y) const {
  return {builder_.CreateAnd(x.may_be_true, y.may_be_true),
          builder_.CreateOr(x.may_be_false, y.may_be_false)};
}

AbstractBool Domain::or_(const AbstractBool& x, const AbstractBool& y) const {
  return {builder_.CreateOr(x.may_be_true, y.may_be_true),
          builder_.CreateAnd(x.may_be_false, y.may_be_false)};
}

AbstractBool Domain::xor_(const AbstractBool& x, const AbstractBool& y) const {
  return select(x, not_(y), y);
}

AbstractBool Domain::select(const AbstractBool& condition, const AbstractBool& x,
                            const AbstractBool& y) const {
  const auto either = [&](llvm::Value* first, llvm::Value* second) {
    return builder_.CreateOr(builder_.CreateAnd(condition.may_be_true, first),
                             builder_.CreateAnd(condition.may_be_false, second));
  };
  return {either(x.may_be_true, y.may_be_true), either(x.may_be_false, y.may_be_false)};
}

AbstractBool Domain::either(const AbstractBool& x, const AbstractBool& y) const {
  return {builder_.CreateOr(x.may_be_true, y.may_be_true), builder_.CreateOr(x.may_be_false, y.may_be_false)};
}

AbstractBool Domain::known(llvm::Value* i1) const { return {i1, builder_.CreateNot(i1)}; }

AbstractBool Domain::unknown() const { return {builder_.getTrue(), builder_.getTrue()}; }

AbstractBool Domain::exact_where(llvm::Value* is_known, llvm::Value* exact) const {
  llvm::Value* not_known = builder_.CreateNot(is_known);
  return {builder_.CreateOr(not_known, exact), builder_.CreateOr(not_known, builder_.CreateNot(exact))};
}

}  // namespace fa
