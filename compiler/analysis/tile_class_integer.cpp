// Transfer functions of i32 instructions, by family.
#include "compiler/analysis/tile_class_transfer.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/IR/PatternMatch.h>
#pragma GCC diagnostic pop

namespace fa {

using namespace llvm::PatternMatch;

AbstractInt Transfer::fallback(llvm::Instruction& instruction, std::int64_t min, std::int64_t max) {
  note_imprecise(instruction);
  return domain_.exact_where(operands_are_points(instruction), corner_[&instruction], min, max);
}

AbstractInt Transfer::transfer_integer(llvm::Instruction& instruction) {
  using llvm::Instruction;
  llvm::Value* const first = instruction.getOperand(0);
  llvm::Value* const second = instruction.getNumOperands() > 1 ? instruction.getOperand(1) : nullptr;
  const auto* overflowing = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(&instruction);
  const bool no_wrap = overflowing != nullptr && overflowing->hasNoSignedWrap();
  const auto* constant = second == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(second);
  const std::int64_t c = constant == nullptr ? 0 : constant->getSExtValue();
  switch (instruction.getOpcode()) {
    case Instruction::Add:
      return domain_.add(integer(first), integer(second), no_wrap);
    case Instruction::Sub:
      return domain_.subtract(integer(first), integer(second), no_wrap);
    case Instruction::Mul:
      return domain_.multiply(integer(first), integer(second), no_wrap);
    case Instruction::Shl:
      if (constant != nullptr && c >= 0 && c < 31)
        return domain_.multiply(integer(first), domain_.constant(std::int64_t{1} << c), no_wrap);
      break;
    case Instruction::AShr:
      if (constant != nullptr && c >= 0 && c < 32)
        return domain_.shift_right(integer(first), static_cast<int>(c));
      break;
    case Instruction::LShr:
      if (constant != nullptr && c >= 0 && c < 32 && integer(first).min >= 0)
        return domain_.shift_right(integer(first), static_cast<int>(c));
      break;
    case Instruction::SDiv:
    case Instruction::UDiv:
    case Instruction::SRem:
    case Instruction::URem:
      return transfer_division(instruction);
    case Instruction::And:
      return transfer_and(instruction, constant != nullptr, c);
    case Instruction::Or:
      if (llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint())
        return domain_.add(integer(first), integer(second), true);
      return fallback_bits(instruction);
    case Instruction::Xor:
      return fallback_bits(instruction);
    case Instruction::Select:
      return transfer_select(llvm::cast<llvm::SelectInst>(instruction));
    case Instruction::ZExt:
    case Instruction::SExt:
      if (first->getType()->isIntegerTy(1)) {
        const std::int64_t on = instruction.getOpcode() == Instruction::ZExt ? 1 : -1;
        return domain_.select(boolean(first), domain_.constant(on), domain_.constant(0));
      }
      break;
    case Instruction::Call:
      return transfer_call(llvm::cast<llvm::CallInst>(instruction));
    default:
      break;
  }
  return fallback(instruction);
}

AbstractInt Transfer::transfer_division(llvm::Instruction& instruction) {
  using llvm::Instruction;
  const unsigned opcode = instruction.getOpcode();
  llvm::Value* divisor = instruction.getOperand(1);
  const AbstractInt x = integer(instruction.getOperand(0));
  const AbstractInt y = integer(divisor);
  const bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  const bool same_divisor = (depends(divisor) & (kQ | kKv)) == 0;
  // Lowering divides unsigned only where it knows that neither side is negative; an imported hook may not.
  if (!same_divisor || (!is_signed && (x.min < 0 || y.min < 0))) return fallback(instruction);
  llvm::Value* value = divisor;
  if (!llvm::isa<llvm::Constant>(divisor)) value = corner_[divisor];
  if (opcode == Instruction::SDiv || opcode == Instruction::UDiv)
    return domain_.divide(x, value, y.min, y.max);
  return domain_.remainder(x, value, y.min, y.max);
}

AbstractInt Transfer::transfer_and(llvm::Instruction& instruction, bool has_constant, std::int64_t c) {
  const AbstractInt x = integer(instruction.getOperand(0));
  if (has_constant && c >= 0 && ((c + 1) & c) == 0) return domain_.floor_mod(x, c + 1);
  if (has_constant && c < 0 && (-c & (-c - 1)) == 0) return domain_.align_down(x, __builtin_ctzll(-c));
  const AbstractInt y = integer(instruction.getOperand(1));
  if (x.min >= 0 || y.min >= 0)
    return fallback(instruction, 0, x.min < 0 ? y.max : (y.min < 0 ? x.max : std::min(x.max, y.max)));
  return fallback(instruction);
}

AbstractInt Transfer::fallback_bits(llvm::Instruction& instruction) {
  const AbstractInt x = integer(instruction.getOperand(0));
  const AbstractInt y = integer(instruction.getOperand(1));
  if (x.min < 0 || y.min < 0) return fallback(instruction);
  std::int64_t bound = 1;
  while (bound <= std::max(x.max, y.max)) bound *= 2;
  return fallback(instruction, 0, bound - 1);
}

AbstractInt Transfer::transfer_select(llvm::SelectInst& select) {
  // r < 0 ? r + c : r, with r = x rem c: the remainder of floor division.
  llvm::Value* remainder = nullptr;
  const llvm::APInt* divisor = nullptr;
  llvm::Value* dividend = nullptr;
  llvm::CmpInst::Predicate predicate{};
  if (match(&select, m_Select(m_ICmp(predicate, m_Value(remainder), m_Zero()),
                              m_Add(m_Deferred(remainder), m_APInt(divisor)), m_Deferred(remainder))) &&
      predicate == llvm::CmpInst::ICMP_SLT &&
      match(remainder, m_SRem(m_Value(dividend), m_SpecificInt(*divisor))) && divisor->isStrictlyPositive())
    return domain_.floor_mod(integer(dividend), divisor->getSExtValue());
  return domain_.select(boolean(select.getCondition()), integer(select.getTrueValue()),
                        integer(select.getFalseValue()));
}

AbstractInt Transfer::transfer_call(llvm::CallInst& call) {
  const auto operand = [&](unsigned i) { return integer(call.getArgOperand(i)); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::smin:
      return domain_.minimum(operand(0), operand(1));
    case llvm::Intrinsic::smax:
      return domain_.maximum(operand(0), operand(1));
    case llvm::Intrinsic::umin:
      if (operand(0).min >= 0 && operand(1).min >= 0) return domain_.minimum(operand(0), operand(1));
      break;
    case llvm::Intrinsic::umax:
      if (operand(0).min >= 0 && operand(1).min >= 0) return domain_.maximum(operand(0), operand(1));
      break;
    case llvm::Intrinsic::abs:
      return domain_.absolute(operand(0));
    default:
      break;
  }
  return fallback(call);
}

}  // namespace fa
