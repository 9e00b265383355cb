// Transfer functions of i32 instructions, by family.
#include "compiler/analysis/tiles/transfer/transfer.h"

#include "compiler/analysis/tiles/match.h"
#include "compiler/ir/llvm/pattern_match.h"

namespace fa {

using namespace llvm::PatternMatch;

AbstractInt Transfer::fallback(llvm::Instruction& instruction, std::int64_t min, std::int64_t max) {
  note_imprecise(instruction);
  return tile().exact_where(operands_are_points(instruction), corner(&instruction), min, max);
}

AbstractInt Transfer::transfer_integer(llvm::Instruction& instruction, const Domain& where) {
  using llvm::Instruction;
  llvm::Value* const first = instruction.getOperand(0);
  llvm::Value* const second = instruction.getNumOperands() > 1 ? instruction.getOperand(1) : nullptr;
  const auto* overflowing = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(&instruction);
  const bool no_wrap = overflowing != nullptr && overflowing->hasNoSignedWrap();
  const auto* constant = second == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(second);
  const std::int64_t c = constant == nullptr ? 0 : constant->getSExtValue();
  switch (instruction.getOpcode()) {
    case Instruction::Add:
      if (const auto mod = match_remainder(&instruction)) {
        const auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(mod->divisor);
        if (divisor != nullptr && divisor->getValue().isStrictlyPositive())
          return where.floor_mod(integer(mod->dividend, where), divisor->getSExtValue());
      }
      return where.add(integer(first, where), integer(second, where), no_wrap);
    case Instruction::Sub:
      if (const auto quotient = match_floor_quotient(&instruction)) {
        const auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(quotient->divisor);
        if (divisor != nullptr && divisor->getValue().isStrictlyPositive())
          return where.floor_divide(integer(quotient->dividend, where), divisor->getSExtValue());
      }
      return where.subtract(integer(first, where), integer(second, where), no_wrap);
    case Instruction::Mul:
      return where.multiply(integer(first, where), integer(second, where), no_wrap);
    case Instruction::Shl:
      if (constant != nullptr && c >= 0 && c < 31)
        return where.multiply(integer(first, where), where.constant(std::int64_t{1} << c), no_wrap);
      break;
    case Instruction::AShr:
      if (constant != nullptr && c >= 0 && c < 32)
        return where.shift_right(integer(first, where), static_cast<int>(c));
      break;
    case Instruction::LShr:
      if (constant != nullptr && c >= 0 && c < 32 && integer(first, where).min >= 0)
        return where.shift_right(integer(first, where), static_cast<int>(c));
      break;
    case Instruction::SDiv:
    case Instruction::UDiv:
    case Instruction::SRem:
    case Instruction::URem:
      return transfer_division(instruction, where);
    case Instruction::And:
      return transfer_and(instruction, where);
    case Instruction::Or:
    case Instruction::Xor:
      return transfer_or_xor(instruction, where);
    case Instruction::Select:
      return transfer_select(llvm::cast<llvm::SelectInst>(instruction), where);
    case Instruction::ZExt:
    case Instruction::SExt:
      if (first->getType()->isIntegerTy(1)) {
        const std::int64_t on = instruction.getOpcode() == Instruction::ZExt ? 1 : -1;
        return where.select(boolean(first, where), where.constant(on), where.constant(0));
      }
      break;
    case Instruction::Call:
      return transfer_call(llvm::cast<llvm::CallInst>(instruction), where);
    default:
      break;
  }
  return fallback(instruction);
}

AbstractInt Transfer::transfer_division(llvm::Instruction& instruction, const Domain& where) {
  using llvm::Instruction;
  const unsigned opcode = instruction.getOpcode();
  llvm::Value* divisor = instruction.getOperand(1);
  const AbstractInt x = integer(instruction.getOperand(0), where);
  const AbstractInt y = integer(divisor, where);
  const bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  // Lowering divides unsigned only where it knows that neither side is negative; an imported hook may not.
  if (!is_uniform(divisor) || (!is_signed && (x.min < 0 || y.min < 0))) return fallback(instruction);
  if (opcode == Instruction::SDiv || opcode == Instruction::UDiv)
    return where.divide(x, corner(divisor), y.min, y.max);
  return where.remainder(x, corner(divisor), y.min, y.max);
}

AbstractInt Transfer::transfer_and(llvm::Instruction& instruction, const Domain& where) {
  const AbstractInt x = integer(instruction.getOperand(0), where);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
  if (constant != nullptr) {
    const std::int64_t c = constant->getSExtValue();
    if (c >= 0 && ((c + 1) & c) == 0) return where.floor_mod(x, c + 1);
    if (c < 0 && (-c & (-c - 1)) == 0) return where.align_down(x, __builtin_ctzll(-c));
  }
  const AbstractInt y = integer(instruction.getOperand(1), where);
  if (x.min < 0 && y.min < 0) return fallback(instruction);
  note_imprecise(instruction);
  return where.bit_and(x, y);
}

AbstractInt Transfer::transfer_or_xor(llvm::Instruction& instruction, const Domain& where) {
  const AbstractInt x = integer(instruction.getOperand(0), where);
  const AbstractInt y = integer(instruction.getOperand(1), where);
  const auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction);
  if (disjoint != nullptr && disjoint->isDisjoint()) return where.add(x, y, true);
  if (x.min < 0 || y.min < 0) return fallback(instruction);
  note_imprecise(instruction);
  return instruction.getOpcode() == llvm::Instruction::Or ? where.bit_or(x, y) : where.bit_xor(x, y);
}

AbstractInt Transfer::transfer_select(llvm::SelectInst& select, const Domain& where) {
  // r < 0 ? r + c : r, with r = x rem c: the remainder of floor division.
  llvm::Value* remainder = nullptr;
  const llvm::APInt* divisor = nullptr;
  llvm::Value* dividend = nullptr;
  llvm::CmpInst::Predicate predicate{};
  if (match(&select, m_Select(m_ICmp(predicate, m_Value(remainder), m_Zero()),
                              m_Add(m_Deferred(remainder), m_APInt(divisor)), m_Deferred(remainder))) &&
      predicate == llvm::CmpInst::ICMP_SLT &&
      match(remainder, m_SRem(m_Value(dividend), m_SpecificInt(*divisor))) && divisor->isStrictlyPositive())
    return where.floor_mod(integer(dividend, where), divisor->getSExtValue());
  return where.select(boolean(select.getCondition(), where), integer(select.getTrueValue(), where),
                      integer(select.getFalseValue(), where));
}

AbstractInt Transfer::transfer_call(llvm::CallInst& call, const Domain& where) {
  const auto operand = [&](unsigned i) { return integer(call.getArgOperand(i), where); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::smin:
      return where.minimum(operand(0), operand(1));
    case llvm::Intrinsic::smax:
      return where.maximum(operand(0), operand(1));
    case llvm::Intrinsic::umin:
      if (operand(0).min >= 0 && operand(1).min >= 0) return where.minimum(operand(0), operand(1));
      break;
    case llvm::Intrinsic::umax:
      if (operand(0).min >= 0 && operand(1).min >= 0) return where.maximum(operand(0), operand(1));
      break;
    case llvm::Intrinsic::abs:
      return where.absolute(operand(0));
    case llvm::Intrinsic::fptosi_sat:
      return truncated(call, where);
    default:
      break;
  }
  return fallback(call);
}

}  // namespace fa
