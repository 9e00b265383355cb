// How far a comparison narrows a box: transfer functions run backwards, from what a value has to be to where
// its indices may be. A bound that is too wide costs precision, never soundness.
#include "compiler/analysis/tiles/transfer/transfer.h"

#include "compiler/analysis/tiles/match.h"
#include "compiler/ir/llvm/pattern_match.h"

namespace fa {
namespace {

using namespace llvm::PatternMatch;

constexpr int kDepth = 6;  // instructions that a bound is carried back through

/// Bounds on q * q_idx + kv * kv_idx, as bounds of the box; those of one index by how far the other goes.
class Bounding {
 public:
  Bounding(const Domain& where, Narrowing& result) : where_(where), result_(result) {}

  void at_most(std::int64_t q, std::int64_t kv, llvm::Value* limit) { bound(q, kv, limit, false); }
  void at_least(std::int64_t q, std::int64_t kv, llvm::Value* limit) { bound(-q, -kv, limit, true); }

 private:
  /// With `negated`, the coefficients are negated already and the limit is not: -x <= -limit.
  void bound(std::int64_t q, std::int64_t kv, llvm::Value* limit, bool negated) {
    llvm::IRBuilder<>& builder = where_.builder();
    llvm::Value* upper = negated ? nullptr : limit;
    llvm::Value* lower = negated ? limit : nullptr;  // of the value with its signs turned
    const auto as_upper = [&] { return upper != nullptr ? upper : builder.CreateNSWNeg(lower); };
    const auto as_lower = [&] { return lower != nullptr ? lower : builder.CreateNSWNeg(upper); };
    Box& box = result_.bounds;
    if (q == -kv && (q == 1 || q == -1)) {
      if (q == 1) lower_to(box.d_hi, as_upper());
      if (q == -1) raise_to(box.d_lo, as_lower());
      return;
    }
    const Box& now = where_.box();
    // What the other index adds at least.
    const auto without = [&](std::int64_t factor, llvm::Value* lo, llvm::Value* hi) {
      if (factor == 0) return as_upper();
      llvm::Value* least = builder.CreateNSWMul(factor > 0 ? lo : hi, where_.i64(factor));
      return builder.CreateNSWSub(as_upper(), least);
    };
    const auto single = [&](std::int64_t factor, std::int64_t other, llvm::Value*& lo, llvm::Value*& hi,
                            llvm::Value* other_lo, llvm::Value* other_hi) {
      if (factor == 1) lower_to(hi, other == 0 ? as_upper() : without(other, other_lo, other_hi));
      if (factor == -1)
        raise_to(lo, other == 0 ? as_lower() : builder.CreateNSWNeg(without(other, other_lo, other_hi)));
    };
    single(q, kv, box.q_lo, box.q_hi, now.kv_lo, now.kv_hi);
    single(kv, q, box.kv_lo, box.kv_hi, now.q_lo, now.q_hi);
  }

  void raise_to(llvm::Value*& bound, llvm::Value* to) const {
    bound = bound == nullptr ? to : where_.max(bound, to);
  }
  void lower_to(llvm::Value*& bound, llvm::Value* to) const {
    bound = bound == nullptr ? to : where_.min(bound, to);
  }

  const Domain& where_;
  Narrowing& result_;
};

bool is_one_value(const AbstractInt& x) {
  const auto unit = [](std::int64_t factor) { return factor >= -1 && factor <= 1; };
  const bool one_direction = x.q == 0 || x.kv == 0 || x.q == -x.kv;
  return unit(x.q) && unit(x.kv) && one_direction && (x.q != 0 || x.kv != 0) && x.rest.lo == x.rest.hi;
}

}  // namespace

Narrowing Transfer::narrowing(const Literal& literal, const Domain& where) {
  using llvm::CmpInst;
  Narrowing result;
  if (literal.condition != nullptr) return result;
  llvm::IRBuilder<>& builder = where.builder();
  CmpInst::Predicate predicate = literal.predicate;
  llvm::Value* a = literal.a;
  llvm::Value* b = literal.b;
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  const llvm::APInt* limit = nullptr;
  if (predicate == CmpInst::ICMP_ULT && match(a, m_Xor(m_Value(x), m_Value(y))) && match(b, m_APInt(limit)) &&
      limit->isPowerOf2()) {
    // The same block of 2^k.
    const int bits = static_cast<int>(limit->logBase2());
    const auto to_block_of = [&](llvm::Value* value, llvm::Value* other) {
      const Range range = where.range(integer(other, where));
      llvm::Value* first = builder.CreateAnd(range.lo, where.i64(-(std::int64_t{1} << bits)));
      llvm::Value* last = builder.CreateOr(range.hi, where.i64((std::int64_t{1} << bits) - 1));
      narrow(result, value, first, last, where, kDepth);
    };
    to_block_of(x, y);
    to_block_of(y, x);
    return result;
  }
  if (CmpInst::isUnsigned(predicate)) {
    if (predicate == CmpInst::ICMP_UGT || predicate == CmpInst::ICMP_UGE) {
      std::swap(a, b);
      predicate = CmpInst::getSwappedPredicate(predicate);
    }
    if (integer(b, where).min < 0) return result;
    predicate = CmpInst::getSignedPredicate(predicate);  // and a is not negative
    if (integer(a, where).min < 0) narrow(result, a, where.i64(0), nullptr, where, kDepth);
  } else if (predicate != CmpInst::ICMP_NE) {
    result.exact = true;
  }
  const AbstractInt first = integer(a, where);
  const AbstractInt second = integer(b, where);
  const AbstractInt gap = where.difference(first, second);  // (predicate) 0
  const bool at_most =
      predicate == CmpInst::ICMP_SLT || predicate == CmpInst::ICMP_SLE || predicate == CmpInst::ICMP_EQ;
  const bool at_least =
      predicate == CmpInst::ICMP_SGT || predicate == CmpInst::ICMP_SGE || predicate == CmpInst::ICMP_EQ;
  const std::int64_t strict = predicate == CmpInst::ICMP_SLT || predicate == CmpInst::ICMP_SGT ? 1 : 0;
  if (gap.q != 0 || gap.kv != 0) {
    result.exact = result.exact && is_one_value(gap);
    Bounding bounding(where, result);
    if (at_most) bounding.at_most(gap.q, gap.kv, builder.CreateNSWSub(where.i64(-strict), gap.rest.lo));
    if (at_least) bounding.at_least(gap.q, gap.kv, builder.CreateNSWSub(where.i64(strict), gap.rest.hi));
  } else {
    result.exact = false;
    const Range r1 = where.range(first);
    const Range r2 = where.range(second);
    const auto less_by = [&](llvm::Value* value) { return builder.CreateNSWSub(value, where.i64(strict)); };
    const auto more_by = [&](llvm::Value* value) { return builder.CreateNSWAdd(value, where.i64(strict)); };
    if (at_most) {
      narrow(result, a, nullptr, less_by(r2.hi), where, kDepth);
      narrow(result, b, more_by(r1.lo), nullptr, where, kDepth);
    }
    if (at_least) {
      narrow(result, a, more_by(r2.lo), nullptr, where, kDepth);
      narrow(result, b, nullptr, less_by(r1.hi), where, kDepth);
    }
  }
  return result;
}

void Transfer::narrow(Narrowing& result, llvm::Value* value, llvm::Value* lo, llvm::Value* hi,
                      const Domain& where, int depth) {
  if (depth == 0 || (lo == nullptr && hi == nullptr) || !reads_box(value)) return;
  llvm::IRBuilder<>& builder = where.builder();
  const AbstractInt known = integer(value, where);
  if (known.q != 0 || known.kv != 0) {
    Bounding bounding(where, result);
    if (hi != nullptr) bounding.at_most(known.q, known.kv, builder.CreateNSWSub(hi, known.rest.lo));
    if (lo != nullptr) bounding.at_least(known.q, known.kv, builder.CreateNSWSub(lo, known.rest.hi));
    return;
  }
  const auto* overflowing = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(value);
  const bool exact = overflowing != nullptr && overflowing->hasNoSignedWrap();
  const auto minus = [&](llvm::Value* bound, llvm::Value* by) {
    return bound == nullptr ? nullptr : builder.CreateNSWSub(bound, by);
  };
  const auto plus = [&](llvm::Value* bound, llvm::Value* by) {
    return bound == nullptr ? nullptr : builder.CreateNSWAdd(bound, by);
  };
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  const llvm::APInt* bits = nullptr;
  if (exact && match(value, m_Add(m_Value(x), m_Value(y)))) {
    const Range first = where.range(integer(x, where));
    const Range second = where.range(integer(y, where));
    narrow(result, x, minus(lo, second.hi), minus(hi, second.lo), where, depth - 1);
    narrow(result, y, minus(lo, first.hi), minus(hi, first.lo), where, depth - 1);
  } else if (exact && match(value, m_Sub(m_Value(x), m_Value(y)))) {
    const Range first = where.range(integer(x, where));
    const Range second = where.range(integer(y, where));
    narrow(result, x, plus(lo, second.lo), plus(hi, second.hi), where, depth - 1);
    narrow(result, y, hi == nullptr ? nullptr : builder.CreateNSWSub(first.lo, hi),
           lo == nullptr ? nullptr : builder.CreateNSWSub(first.hi, lo), where, depth - 1);
  } else if (match(value, m_AShr(m_Value(x), m_APInt(bits))) ||
             (match(value, m_LShr(m_Value(x), m_APInt(bits))) && integer(x, where).min >= 0)) {
    const std::int64_t factor = std::int64_t{1} << bits->getZExtValue();
    narrow_dividend(result, x, where.i64(factor), lo, hi, where, depth);
  } else if (const auto quotient = match_floor_quotient(value); quotient && is_uniform(quotient->divisor)) {
    narrow_dividend(result, quotient->dividend, where.widen(corner(quotient->divisor)), lo, hi, where, depth);
  } else if ((match(value, m_UDiv(m_Value(x), m_Value(y))) || match(value, m_SDiv(m_Value(x), m_Value(y)))) &&
             is_uniform(y) && integer(x, where).min >= 0) {
    narrow_dividend(result, x, where.widen(corner(y)), lo, hi, where, depth);
  } else if (match(value, m_Intrinsic<llvm::Intrinsic::smax>(m_Value(x), m_Value(y)))) {
    narrow(result, x, nullptr, hi, where, depth - 1);
    narrow(result, y, nullptr, hi, where, depth - 1);
  } else if (match(value, m_Intrinsic<llvm::Intrinsic::smin>(m_Value(x), m_Value(y)))) {
    narrow(result, x, lo, nullptr, where, depth - 1);
    narrow(result, y, lo, nullptr, where, depth - 1);
  } else if (hi != nullptr && match(value, m_Intrinsic<llvm::Intrinsic::abs>(m_Value(x))) &&
             integer(x, where).min > kI32Min) {
    narrow(result, x, builder.CreateNSWNeg(hi), hi, where, depth - 1);
  }
}

/// floor(x / by) is at least lo and at most hi where lo * by <= x < (hi + 1) * by; for by >= 1 (an i64
/// value), else nothing is said.
void Transfer::narrow_dividend(Narrowing& result, llvm::Value* x, llvm::Value* by, llvm::Value* lo,
                               llvm::Value* hi, const Domain& where, int depth) {
  llvm::IRBuilder<>& builder = where.builder();
  llvm::Value* const is_positive = builder.CreateICmpSGE(by, where.i64(1));
  const Range now = where.range(integer(x, where));
  // A quotient is an i32: bounds beyond that say no more than the nearest one, and would overflow.
  const auto clamped = [&](llvm::Value* bound) {
    return where.min(where.max(bound, where.i64(kI32Min - 1)), where.i64(kI32Max + 1));
  };
  llvm::Value* first = nullptr;
  llvm::Value* last = nullptr;
  if (lo != nullptr) first = builder.CreateSelect(is_positive, builder.CreateMul(clamped(lo), by), now.lo);
  if (hi != nullptr) {
    llvm::Value* const next = builder.CreateMul(builder.CreateNSWAdd(clamped(hi), where.i64(1)), by);
    last = builder.CreateSelect(is_positive, builder.CreateNSWSub(next, where.i64(1)), now.hi);
  }
  narrow(result, x, first, last, where, depth - 1);
}

}  // namespace fa
