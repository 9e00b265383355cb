#include "compiler/analysis/tiles/match.h"
#include "compiler/ir/llvm/pattern_match.h"

namespace fa {

using namespace llvm::PatternMatch;

namespace {

/// Whether `corrected` says that truncating was wrong: the remainder is not zero and has not the divisor's
/// sign.
std::optional<Remainder::Form> correction(llvm::Value* corrected, llvm::Value* remainder,
                                          llvm::Value* divisor) {
  llvm::CmpInst::Predicate sign{};
  llvm::CmpInst::Predicate not_zero{};
  if (match(corrected, m_ICmp(sign, m_Specific(remainder), m_Zero())) && sign == llvm::CmpInst::ICMP_SLT)
    return Remainder::Form::floor_positive;
  if (match(corrected, m_And(m_ICmp(not_zero, m_Specific(remainder), m_Zero()),
                             m_ICmp(sign, m_Xor(m_Specific(remainder), m_Specific(divisor)), m_Zero()))) &&
      not_zero == llvm::CmpInst::ICMP_NE && sign == llvm::CmpInst::ICMP_SLT)
    return Remainder::Form::floor;
  return {};
}

}  // namespace

std::optional<Remainder> match_remainder(llvm::Value* value) {
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  const llvm::APInt* bits = nullptr;
  if (match(value, m_And(m_Value(x), m_APInt(bits))) && bits->isMask() && !bits->isSignMask())
    return Remainder{x, llvm::ConstantInt::get(value->getType(), *bits + 1)};
  if (match(value, m_URem(m_Value(x), m_Value(y)))) return Remainder{x, y, Remainder::Form::is_unsigned};
  if (match(value, m_SRem(m_Value(x), m_Value(y)))) return Remainder{x, y, Remainder::Form::is_signed};

  // rem + (corrected ? d : 0)
  llvm::Value* remainder = nullptr;
  llvm::Value* corrected = nullptr;
  if (!match(value, m_Add(m_Value(remainder), m_Select(m_Value(corrected), m_Value(y), m_Zero()))) ||
      !match(remainder, m_SRem(m_Value(x), m_Specific(y))))
    return {};
  if (const auto form = correction(corrected, remainder, y)) return Remainder{x, y, *form};
  return {};
}

std::optional<FloorQuotient> match_floor_quotient(llvm::Value* value) {
  // What stands for division by 0 and by -1 comes in front.
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  while (auto* select = llvm::dyn_cast<llvm::SelectInst>(value)) {
    llvm::CmpInst::Predicate predicate{};
    const llvm::APInt* special = nullptr;
    if (!match(select->getCondition(), m_ICmp(predicate, m_Value(), m_APInt(special))) ||
        predicate != llvm::CmpInst::ICMP_EQ || special->isStrictlyPositive())
      return {};
    if (y != nullptr && y != llvm::cast<llvm::ICmpInst>(select->getCondition())->getOperand(0)) return {};
    y = llvm::cast<llvm::ICmpInst>(select->getCondition())->getOperand(0);
    value = select->getFalseValue();
  }
  llvm::Value* const replaced = y;  // the divisor that those were compared with, if any
  llvm::Value* corrected = nullptr;
  if (!match(value, m_Sub(m_SDiv(m_Value(x), m_Value(y)), m_ZExt(m_Value(corrected))))) return {};
  const bool is_safe_divisor =
      replaced != nullptr && match(y, m_Select(m_Value(), m_One(), m_Specific(replaced)));
  if (replaced != nullptr && replaced != y && !is_safe_divisor) return {};
  // Its remainder stands where the correction asks for it.
  llvm::Value* remainder = nullptr;
  llvm::CmpInst::Predicate predicate{};
  if (!match(corrected, m_ICmp(predicate, m_Value(remainder), m_Zero())) &&
      !match(corrected, m_And(m_ICmp(predicate, m_Value(remainder), m_Zero()), m_Value())))
    return {};
  if (!match(remainder, m_SRem(m_Specific(x), m_Specific(y))) || !correction(corrected, remainder, y))
    return {};
  return FloorQuotient{x, replaced != nullptr ? replaced : y};  // the one that may be 0, where there are two
}

}  // namespace fa
