// What a condition may come out as: and, or, not, comparisons.
#include "compiler/analysis/tiles/transfer/transfer.h"

#include "compiler/analysis/tiles/match.h"
#include "compiler/ir/llvm/pattern_match.h"

namespace fa {

using namespace llvm::PatternMatch;

llvm::Value* Transfer::interpret(llvm::Instruction& condition, bool wanted, const Domain& where) {
  llvm::IRBuilder<>& builder = where.builder();
  if (is_uniform(&condition)) return wanted ? corner(&condition) : builder.CreateNot(corner(&condition));
  if (const int summary = sides_.summary_of(&condition); summary >= 0) {
    return wanted ? builder.CreateICmpNE(end_of(summary, true), builder.getInt32(0))
                  : builder.CreateICmpEQ(end_of(summary, false), builder.getInt32(0));
  }
  llvm::Value* x = nullptr;
  if (match(&condition, m_Not(m_Value(x)))) return may(x, !wanted, where);
  const bool is_and = match(&condition, m_LogicalAnd());
  if (is_and || match(&condition, m_LogicalOr())) {
    std::vector<Literal> literals;
    flatten(&condition, wanted, is_and == wanted, literals);
    return is_and == wanted ? may_all_hold(literals, where) : may_any_hold(literals, where);
  }
  const Literal asked{.condition = &condition, .wanted = wanted};
  if (const auto choices = ways(asked); choices.size() > 1) {
    llvm::Value* any = builder.getFalse();
    for (const std::vector<Literal>& choice : choices)
      any = builder.CreateOr(any, may_all_hold(choice, where));
    return any;
  }
  if (const Literal comparison = literal(&condition, wanted); comparison.condition == nullptr)
    return may_hold(comparison, where);
  note_imprecise(condition);
  const AbstractBool known = tile().exact_where(operands_are_points(condition), corner(&condition));
  llvm::Value* const by_points = wanted ? known.may_be_true : known.may_be_false;
  auto* const floats = llvm::dyn_cast<llvm::FCmpInst>(&condition);
  const auto by_interval = floats == nullptr ? std::nullopt : compare_floats(*floats, where);
  if (!by_interval) return by_points;
  return builder.CreateAnd(by_points, wanted ? by_interval->may_be_true : by_interval->may_be_false);
}

Literal Transfer::literal(llvm::Value* condition, bool wanted) const {
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  const bool opaque = compare == nullptr || is_uniform(condition) || sides_.summary_of(condition) >= 0 ||
                      !compare->getOperand(0)->getType()->isIntegerTy(32);
  if (opaque) return {.condition = condition, .wanted = wanted};
  return {.condition = nullptr,
          .wanted = true,
          .predicate = wanted ? compare->getPredicate() : compare->getInversePredicate(),
          .a = compare->getOperand(0),
          .b = compare->getOperand(1)};
}

llvm::Value* Transfer::may_hold(const Literal& literal, const Domain& where) {
  if (literal.condition != nullptr) return may(literal.condition, literal.wanted, where);
  return compare(literal, where).may_be_true;
}

AbstractBool Transfer::compare(const Literal& literal, const Domain& where) {
  using llvm::CmpInst;
  if (const auto bits = compare_bits(literal, where)) return *bits;
  if (const auto remainders = compare_remainders(literal, where)) return *remainders;
  const AbstractInt a = integer(literal.a, where);
  const AbstractInt b = integer(literal.b, where);
  std::optional<AbstractBool> result;
  switch (literal.predicate) {
    case CmpInst::ICMP_EQ:
      return where.equal(a, b);
    case CmpInst::ICMP_NE:
      return where.not_(where.equal(a, b));
    case CmpInst::ICMP_SLT:
      return where.less(a, b);
    case CmpInst::ICMP_SGE:
      return where.not_(where.less(a, b));
    case CmpInst::ICMP_SGT:
      return where.less(b, a);
    case CmpInst::ICMP_SLE:
      return where.not_(where.less(b, a));
    case CmpInst::ICMP_ULT:
    case CmpInst::ICMP_UGE:
      result = unsigned_less(a, b, where);
      break;
    case CmpInst::ICMP_UGT:
    case CmpInst::ICMP_ULE:
      result = unsigned_less(b, a, where);
      break;
    default:
      break;
  }
  const bool inverse = literal.predicate == CmpInst::ICMP_UGE || literal.predicate == CmpInst::ICMP_ULE;
  if (result) return inverse ? where.not_(*result) : *result;
  llvm::IRBuilder<>& builder = where.builder();
  llvm::Value* points = builder.CreateAnd(is_point(literal.a), is_point(literal.b));
  return where.exact_where(points,
                           builder.CreateICmp(literal.predicate, corner(literal.a), corner(literal.b)));
}

std::optional<AbstractBool> Transfer::compare_bits(const Literal& literal, const Domain& where) {
  using llvm::CmpInst;
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  const llvm::APInt* limit = nullptr;
  if (!match(literal.a, m_Xor(m_Value(x), m_Value(y)))) return {};
  // (x ^ y) <u 2^k: the same block of 2^k, as LLVM writes x / 2^k == y / 2^k.
  if (CmpInst::isUnsigned(literal.predicate) && match(literal.b, m_APInt(limit))) {
    const bool less = literal.predicate == CmpInst::ICMP_ULT && limit->isPowerOf2();
    const bool greater = literal.predicate == CmpInst::ICMP_UGT && (*limit + 1).isPowerOf2();
    if (!less && !greater) return {};
    const int bits = static_cast<int>(less ? limit->logBase2() : (*limit + 1).logBase2());
    const AbstractBool same =
        where.equal(where.shift_right(integer(x, where), bits), where.shift_right(integer(y, where), bits));
    return less ? same : where.not_(same);
  }
  // (x ^ y) < 0: the signs differ.
  if (literal.predicate == CmpInst::ICMP_SLT && match(literal.b, m_Zero())) {
    const AbstractInt zero = where.constant(0);
    return where.xor_(where.less(integer(x, where), zero), where.less(integer(y, where), zero));
  }
  return {};
}

/// x % d == y % d is (x - y) % d == 0, and x % d == c is (x - c) % d == 0 for a remainder c: what x and y
/// share cancels, and a range holds a multiple of d or does not.
std::optional<AbstractBool> Transfer::compare_remainders(const Literal& literal, const Domain& where) {
  using llvm::CmpInst;
  using Form = Remainder::Form;
  if (literal.predicate != CmpInst::ICMP_EQ && literal.predicate != CmpInst::ICMP_NE) return {};
  std::optional<Remainder> x = match_remainder(literal.a);
  std::optional<Remainder> y = match_remainder(literal.b);
  llvm::Value* other = literal.b;
  if (!x) {
    std::swap(x, y);
    other = literal.a;
  }
  if (!x || !is_uniform(x->divisor)) return {};
  const AbstractInt dividend = integer(x->dividend, where);
  const auto is_modular = [](Form form, const AbstractInt& of) {
    return form == Form::floor || form == Form::floor_positive || of.min >= 0;
  };
  if (!is_modular(x->form, dividend)) return {};

  llvm::IRBuilder<>& builder = where.builder();
  llvm::Value* const zero = where.i64(0);
  llvm::Value* const divisor = where.widen(corner(x->divisor));
  llvm::Value* const modulus = where.max(divisor, builder.CreateNSWNeg(divisor));
  llvm::Value* const is_positive = builder.CreateICmpSGT(divisor, zero);
  bool positive_only = x->form == Form::floor_positive || x->form == Form::is_unsigned;
  AbstractBool same;
  if (y && y->divisor == x->divisor) {
    const AbstractInt second = integer(y->dividend, where);
    if (!is_modular(y->form, second)) return {};
    positive_only |= y->form != x->form;
    same = where.congruent(dividend, second, modulus);
  } else if (is_uniform(other)) {
    llvm::Value* const c = where.widen(corner(other));
    llvm::Value* is_remainder =
        builder.CreateAnd(builder.CreateICmpSGE(c, zero), builder.CreateICmpSLT(c, modulus));
    if (x->form == Form::floor) {
      llvm::Value* of_negative = builder.CreateAnd(builder.CreateICmpSLE(c, zero),
                                                   builder.CreateICmpSLT(builder.CreateNSWNeg(c), modulus));
      is_remainder = builder.CreateSelect(is_positive, is_remainder, of_negative);
    }
    same = where.and_(where.known(is_remainder), where.congruent(dividend, integer(other, where), modulus));
  } else {
    return {};
  }
  if (positive_only) {
    const AbstractBool by_interval = where.equal(integer(literal.a, where), integer(literal.b, where));
    same = {builder.CreateSelect(is_positive, same.may_be_true, by_interval.may_be_true),
            builder.CreateSelect(is_positive, same.may_be_false, by_interval.may_be_false)};
  }
  return literal.predicate == CmpInst::ICMP_EQ ? same : where.not_(same);
}

std::optional<AbstractBool> Transfer::unsigned_less(const AbstractInt& x, const AbstractInt& y,
                                                    const Domain& where) {
  // A negative number is larger than every other, so 0 <= x < y where y is not negative.
  if (y.min >= 0) {
    const AbstractBool below = where.less(x, y);
    return x.min >= 0 ? below : where.and_(where.not_(where.less(x, where.constant(0))), below);
  }
  if (x.min >= 0) return where.or_(where.less(y, where.constant(0)), where.less(x, y));
  return {};
}

}  // namespace fa
