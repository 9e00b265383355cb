// Transfer functions of i1 instructions: comparisons and what joins them.
#include "compiler/analysis/tile_class_transfer.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/Analysis/CmpInstAnalysis.h>
#include <llvm/IR/PatternMatch.h>
#pragma GCC diagnostic pop

namespace fa {

using namespace llvm::PatternMatch;

AbstractBool Transfer::fallback_boolean(llvm::Instruction& instruction) {
  note_imprecise(instruction);
  return domain_.exact_where(operands_are_points(instruction), corner_[&instruction]);
}

std::optional<AbstractBool> Transfer::merge_compares(llvm::Instruction& instruction) {
  auto* x = llvm::dyn_cast<llvm::ICmpInst>(instruction.getOperand(0));
  auto* y =
      instruction.getNumOperands() > 1 ? llvm::dyn_cast<llvm::ICmpInst>(instruction.getOperand(1)) : nullptr;
  const bool conjunction = instruction.getOpcode() == llvm::Instruction::And;
  if (x == nullptr || y == nullptr || (!conjunction && instruction.getOpcode() != llvm::Instruction::Or))
    return {};
  llvm::CmpInst::Predicate second = y->getPredicate();
  if (x->getOperand(0) == y->getOperand(1) && x->getOperand(1) == y->getOperand(0))
    second = llvm::CmpInst::getSwappedPredicate(second);
  else if (x->getOperand(0) != y->getOperand(0) || x->getOperand(1) != y->getOperand(1))
    return {};
  if (!x->getOperand(0)->getType()->isIntegerTy(32) || !llvm::predicatesFoldable(x->getPredicate(), second))
    return {};
  const unsigned first_code = llvm::getICmpCode(x->getPredicate());
  const unsigned second_code = llvm::getICmpCode(second);
  llvm::CmpInst::Predicate merged{};
  const unsigned code = conjunction ? first_code & second_code : first_code | second_code;
  const bool is_signed = x->isSigned() || llvm::CmpInst::isSigned(second);
  if (llvm::Constant* decided =
          llvm::getPredForICmpCode(code, is_signed, x->getOperand(0)->getType(), merged))
    return domain_.known(decided);
  return compare(*x, merged, x->getOperand(0), x->getOperand(1));
}

AbstractBool Transfer::transfer_boolean(llvm::Instruction& instruction) {
  using llvm::Instruction;
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  if (match(&instruction, m_Not(m_Value(x)))) return domain_.not_(boolean(x));
  if (const std::optional<AbstractBool> merged = merge_compares(instruction)) return *merged;
  if (match(&instruction, m_LogicalAnd(m_Value(x), m_Value(y)))) return domain_.and_(boolean(x), boolean(y));
  if (match(&instruction, m_LogicalOr(m_Value(x), m_Value(y)))) return domain_.or_(boolean(x), boolean(y));
  switch (instruction.getOpcode()) {
    case Instruction::Xor:
      return domain_.xor_(boolean(instruction.getOperand(0)), boolean(instruction.getOperand(1)));
    case Instruction::Select:
      return domain_.select(boolean(instruction.getOperand(0)), boolean(instruction.getOperand(1)),
                            boolean(instruction.getOperand(2)));
    case Instruction::ICmp:
      if (instruction.getOperand(0)->getType()->isIntegerTy(32))
        return compare(instruction, llvm::cast<llvm::ICmpInst>(instruction).getPredicate(),
                       instruction.getOperand(0), instruction.getOperand(1));
      break;
    default:
      break;
  }
  return fallback_boolean(instruction);
}

AbstractBool Transfer::compare(llvm::Instruction& instruction, llvm::CmpInst::Predicate predicate,
                               llvm::Value* first, llvm::Value* second) {
  using llvm::CmpInst;
  // (x ^ y) <u 2^k: the same block of 2^k, as LLVM writes x / 2^k == y / 2^k.
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  const llvm::APInt* limit = nullptr;
  if (CmpInst::isUnsigned(predicate) && match(first, m_Xor(m_Value(x), m_Value(y))) &&
      match(second, m_APInt(limit))) {
    const bool less = predicate == CmpInst::ICMP_ULT && limit->isPowerOf2();
    const bool greater = predicate == CmpInst::ICMP_UGT && (*limit + 1).isPowerOf2();
    if (less || greater) {
      const int bits = static_cast<int>(less ? limit->logBase2() : (*limit + 1).logBase2());
      const AbstractBool same =
          domain_.equal(domain_.shift_right(integer(x), bits), domain_.shift_right(integer(y), bits));
      return less ? same : domain_.not_(same);
    }
  }
  // (x ^ y) < 0: the signs differ.
  if (predicate == CmpInst::ICMP_SLT && match(first, m_Xor(m_Value(x), m_Value(y))) &&
      match(second, m_Zero())) {
    const AbstractInt zero = domain_.constant(0);
    return domain_.xor_(domain_.less(integer(x), zero), domain_.less(integer(y), zero));
  }
  const AbstractInt a = integer(first);
  const AbstractInt b = integer(second);
  switch (predicate) {
    case CmpInst::ICMP_EQ:
      return domain_.equal(a, b);
    case CmpInst::ICMP_NE:
      return domain_.not_(domain_.equal(a, b));
    case CmpInst::ICMP_SLT:
      return domain_.less(a, b);
    case CmpInst::ICMP_SGE:
      return domain_.not_(domain_.less(a, b));
    case CmpInst::ICMP_SGT:
      return domain_.less(b, a);
    case CmpInst::ICMP_SLE:
      return domain_.not_(domain_.less(b, a));
    case CmpInst::ICMP_ULT:
      return unsigned_less(instruction, a, b);
    case CmpInst::ICMP_UGE:
      return domain_.not_(unsigned_less(instruction, a, b));
    case CmpInst::ICMP_UGT:
      return unsigned_less(instruction, b, a);
    case CmpInst::ICMP_ULE:
      return domain_.not_(unsigned_less(instruction, b, a));
    default:
      return fallback_boolean(instruction);
  }
}

AbstractBool Transfer::unsigned_less(llvm::Instruction& instruction, const AbstractInt& x,
                                     const AbstractInt& y) {
  if (y.min >= 0) {
    const AbstractBool below = domain_.less(x, y);
    return x.min >= 0 ? below : domain_.and_(domain_.not_(domain_.less(x, domain_.constant(0))), below);
  }
  if (x.min >= 0) return domain_.or_(domain_.less(y, domain_.constant(0)), domain_.less(x, y));
  return fallback_boolean(instruction);
}

}  // namespace fa
