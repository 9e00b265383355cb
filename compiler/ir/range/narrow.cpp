// Ranges flow forward through the blocks (LLVM's ConstantRange does the arithmetic; what a loop carries may
// be anything); an i64 instruction whose result and operands fit is replaced by a sign extension of the same
// on i32, so that its users find the 32-bit operand behind the extension.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/pattern_match.h"
// after llvm.h
#include <unordered_map>

#include "compiler/ir/hook_ir.h"
#include "compiler/ir/range/narrow.h"

namespace fa {
namespace {

using llvm::ConstantRange;
using namespace llvm::PatternMatch;

ConstantRange between(unsigned bits, std::int64_t lo, std::int64_t hi) {
  const auto number = [&](std::int64_t x) { return llvm::APInt(bits, static_cast<std::uint64_t>(x), true); };
  return ConstantRange::getNonEmpty(number(lo), number(hi) + 1);
}

ConstantRange of_argument(const llvm::Argument& argument) {
  if (const llvm::Attribute range = argument.getAttribute(llvm::Attribute::Range); range.isValid())
    return range.getRange();
  return ConstantRange::getFull(argument.getType()->getIntegerBitWidth());
}

class Narrowing {
 public:
  explicit Narrowing(llvm::Function& function) : builder_(function.getContext()) {
    for (const llvm::Argument& argument : function.args())
      if (argument.getType()->isIntegerTy()) ranges_.emplace(&argument, of_argument(argument));
  }

  void visit(llvm::Instruction& instruction) {
    if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) return visit_compare(*compare);
    if (auto* conversion = llvm::dyn_cast<llvm::SIToFPInst>(&instruction))
      return visit_conversion(*conversion);
    if (!instruction.getType()->isIntegerTy()) return;
    const ConstantRange result = compute(instruction);
    ranges_.insert_or_assign(&instruction, result);
    builder_.SetInsertPoint(&instruction);
    if (instruction.getType()->isIntegerTy(32) && llvm::isa<llvm::TruncInst>(instruction)) {
      // A value that was extended to 64 bits exists in 32 bits already.
      if (fits(instruction.getOperand(0))) instruction.replaceAllUsesWith(narrow(instruction.getOperand(0)));
      return;
    }
    if (!instruction.getType()->isIntegerTy(64) || llvm::isa<llvm::SExtInst>(instruction)) return;
    llvm::Value* const small = in_32_bits(instruction, result);
    if (small == nullptr) return;
    remember(small, result.truncate(32));
    llvm::Value* const wide = builder_.CreateSExt(small, instruction.getType(), instruction.getName());
    remember(wide, result);
    instruction.replaceAllUsesWith(wide);
  }

 private:
  /// The 32-bit form of an i64 instruction, or null.
  llvm::Value* in_32_bits(llvm::Instruction& instruction, const ConstantRange& result) {
    const auto operand = [&](unsigned i) { return instruction.getOperand(i); };
    const bool is_division = instruction.getOpcode() == llvm::Instruction::SDiv;
    if (is_division && fits_unsigned(operand(0)) && fits_unsigned(operand(1)) && result_fits(result))
      return builder_.CreateUDiv(narrow(operand(0)), narrow(operand(1)));
    if (!result_fits(result)) return nullptr;
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
      if (!fits(operand(0)) || !fits(operand(1))) return nullptr;
      llvm::Value* const a = narrow(operand(0));
      llvm::Value* const b = narrow(operand(1));
      switch (binary->getOpcode()) {
        case llvm::Instruction::Add:
          return builder_.CreateNSWAdd(a, b);
        case llvm::Instruction::Sub:
          return builder_.CreateNSWSub(a, b);
        case llvm::Instruction::Mul:
          return builder_.CreateNSWMul(a, b);
        case llvm::Instruction::SDiv:
        case llvm::Instruction::SRem:
        case llvm::Instruction::And:
        case llvm::Instruction::Or:
        case llvm::Instruction::Xor:
          return builder_.CreateBinOp(binary->getOpcode(), a, b);
        case llvm::Instruction::AShr:
          if (const auto* by = llvm::dyn_cast<llvm::ConstantInt>(operand(1)))
            return builder_.CreateAShr(a, by->getLimitedValue(31));  // past that all bits are the sign
          return nullptr;
        default:
          return nullptr;
      }
    }
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      if (!fits(select->getTrueValue()) || !fits(select->getFalseValue())) return nullptr;
      return builder_.CreateSelect(select->getCondition(), narrow(select->getTrueValue()),
                                   narrow(select->getFalseValue()));
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
      if (!fits(operand(0))) return nullptr;
      switch (call->getIntrinsicID()) {
        case llvm::Intrinsic::smin:
        case llvm::Intrinsic::smax:
          if (!fits(operand(1))) return nullptr;
          return builder_.CreateBinaryIntrinsic(call->getIntrinsicID(), narrow(operand(0)),
                                                narrow(operand(1)));
        case llvm::Intrinsic::abs:
          return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, narrow(operand(0)), operand(1));
        default:
          return nullptr;
      }
    }
    if (auto* extension = llvm::dyn_cast<llvm::ZExtInst>(&instruction)) {
      if (operand(0)->getType()->isIntegerTy(32)) return operand(0);
      return builder_.CreateZExt(operand(0), builder_.getInt32Ty(), extension->getName());
    }
    return nullptr;
  }

  void visit_conversion(llvm::SIToFPInst& conversion) {
    llvm::Value* const from = conversion.getOperand(0);
    if (!from->getType()->isIntegerTy(64) || !fits(from)) return;
    builder_.SetInsertPoint(&conversion);
    conversion.replaceAllUsesWith(builder_.CreateSIToFP(narrow(from), conversion.getType()));
  }

  /// a - b against 0 is a against b, where the difference does not wrap around.
  void visit_compare(llvm::ICmpInst& compare) {
    if (!compare.getOperand(0)->getType()->isIntegerTy(64)) return;
    builder_.SetInsertPoint(&compare);
    llvm::Value* a = compare.getOperand(0);
    llvm::Value* b = compare.getOperand(1);
    const bool is_signed = compare.isSigned() || compare.isEquality();
    if (is_signed && match(b, m_Zero())) {
      if (const auto [x, y] = difference(a); x != nullptr) {
        a = x;
        b = y;
      }
    }
    if (is_signed && fits(a) && fits(b)) {
      compare.replaceAllUsesWith(builder_.CreateICmp(compare.getPredicate(), narrow(a), narrow(b)));
    } else if (a != compare.getOperand(0)) {
      compare.replaceAllUsesWith(builder_.CreateICmp(compare.getPredicate(), a, b));
    }
  }

  /// The two numbers whose difference this i64 value is, if it did not wrap around; or null.
  std::pair<llvm::Value*, llvm::Value*> difference(llvm::Value* value) {
    llvm::Value* x = nullptr;
    llvm::Value* y = nullptr;
    if (match(value, m_Add(m_Value(x), m_Value(y)))) {
      llvm::Value* const of_y = opposite(y);
      llvm::Value* const of_x = of_y == nullptr ? opposite(x) : nullptr;
      if (of_y == nullptr && of_x == nullptr) return {};
      x = of_y != nullptr ? x : y;
      y = of_y != nullptr ? of_y : of_x;
    } else if (!match(value, m_Sub(m_Value(x), m_Value(y)))) {
      return {};
    }
    if (range(x).signedSubMayOverflow(range(y)) != ConstantRange::OverflowResult::NeverOverflows) return {};
    return {x, y};
  }

  /// What an i64 value is the negative of, where that is written in it; or null.
  llvm::Value* opposite(llvm::Value* value) {
    llvm::Value* of = nullptr;
    llvm::Value* const inner = without_casts(value);
    const auto is_exact = [&](llvm::Value* negative) {
      const auto* operation = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(negative);
      return operation != nullptr && operation->hasNoSignedWrap();
    };
    if (!match(inner, m_Neg(m_Value(of))) && !match(inner, m_Mul(m_Value(of), m_AllOnes()))) return nullptr;
    if (!is_exact(inner)) return nullptr;
    if (of->getType() == value->getType()) return of;
    llvm::Value* const wide = builder_.CreateSExt(of, value->getType());
    remember(wide, range(of).signExtend(64));
    return wide;
  }

  static bool result_fits(const ConstantRange& range) {
    return range.getSignedMin().isSignedIntN(32) && range.getSignedMax().isSignedIntN(32);
  }
  bool fits(llvm::Value* value) { return result_fits(range(value)); }
  bool fits_unsigned(llvm::Value* value) {
    const ConstantRange known = range(value);
    return known.isAllNonNegative() && known.getUnsignedMax().isIntN(32);
  }

  /// The low half of an i64 value.
  llvm::Value* narrow(llvm::Value* value) {
    if (auto* extension = llvm::dyn_cast<llvm::SExtInst>(value)) {
      llvm::Value* const from = extension->getOperand(0);
      if (from->getType()->isIntegerTy(32)) return from;
      if (from->getType()->getIntegerBitWidth() < 32) return builder_.CreateSExt(from, builder_.getInt32Ty());
    }
    llvm::Value* const low = builder_.CreateTrunc(value, builder_.getInt32Ty());
    remember(low, range(value).truncate(32));
    return low;
  }

  /// x without the casts that keep its value; `is_unsigned` where 32 bits of it are read as such.
  llvm::Value* without_casts(llvm::Value* x, bool is_unsigned = false) {
    while (auto* const cast = llvm::dyn_cast<llvm::CastInst>(x)) {
      llvm::Value* const from = cast->getOperand(0);
      const bool shortens = llvm::isa<llvm::TruncInst>(cast) && from->getType()->isIntegerTy(64) &&
                            cast->getType()->isIntegerTy(32) &&
                            (is_unsigned ? fits_unsigned(from) : fits(from));
      if (!shortens && !llvm::isa<llvm::SExtInst>(cast)) return x;
      is_unsigned = false;
      x = from;
    }
    return x;
  }

  void remember(llvm::Value* value, const ConstantRange& range) { ranges_.insert_or_assign(value, range); }

  ConstantRange range(llvm::Value* value) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
      return ConstantRange(constant->getValue());
    if (const auto found = ranges_.find(value); found != ranges_.end()) return found->second;
    return ConstantRange::getFull(value->getType()->getIntegerBitWidth());
  }

  ConstantRange compute(llvm::Instruction& instruction) {
    const unsigned bits = instruction.getType()->getIntegerBitWidth();
    const auto operand = [&](unsigned i) { return range(instruction.getOperand(i)); };
    if (llvm::isa<llvm::CastInst>(instruction) && instruction.getOperand(0)->getType()->isIntegerTy())
      return operand(0).castOp(llvm::cast<llvm::CastInst>(instruction).getOpcode(), bits);
    if (llvm::isa<llvm::SelectInst>(instruction)) return operand(1).unionWith(operand(2));
    if (llvm::isa<llvm::FreezeInst>(instruction)) return operand(0);
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
      return of_intrinsic(*call, bits).intersectWith(call->getRange().value_or(ConstantRange::getFull(bits)));
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
      const ConstantRange plain = operand(0).binaryOp(binary->getOpcode(), operand(1));
      return plain.intersectWith(of_whole_part(*binary, bits)).intersectWith(of_bits(*binary, bits));
    }
    return ConstantRange::getFull(bits);
  }

  ConstantRange of_intrinsic(const llvm::IntrinsicInst& call, unsigned bits) {
    if (!ConstantRange::isIntrinsicSupported(call.getIntrinsicID())) return ConstantRange::getFull(bits);
    llvm::SmallVector<ConstantRange, 2> operands;
    for (llvm::Value* argument : call.args()) operands.push_back(range(argument));
    const ConstantRange result = ConstantRange::intrinsic(call.getIntrinsicID(), operands);
    if (call.getIntrinsicID() != llvm::Intrinsic::smax) return result;
    // |x| as the greater of x and -x.
    llvm::Value* const a = call.getArgOperand(0);
    llvm::Value* const b = call.getArgOperand(1);
    const bool is_magnitude = match(a, m_Neg(m_Specific(b))) || match(b, m_Neg(m_Specific(a)));
    if (!is_magnitude || range(a).getSignedMin().isMinSignedValue()) return result;
    return result.intersectWith(between(bits, 0, result.getSignedMax().getSExtValue()));
  }

  /// x / y * y lies between 0 and x.
  ConstantRange of_whole_part(const llvm::BinaryOperator& product, unsigned bits) {
    ConstantRange result = ConstantRange::getFull(bits);
    if (product.getOpcode() != llvm::Instruction::Mul) return result;
    for (unsigned i = 0; i < 2; ++i) {
      const auto* quotient = llvm::dyn_cast<llvm::BinaryOperator>(without_casts(product.getOperand(i)));
      if (quotient == nullptr || (quotient->getOpcode() != llvm::Instruction::SDiv &&
                                  quotient->getOpcode() != llvm::Instruction::UDiv))
        continue;
      const bool is_unsigned = quotient->getOpcode() == llvm::Instruction::UDiv;
      if (without_casts(quotient->getOperand(1), is_unsigned) != without_casts(product.getOperand(1 - i)))
        continue;
      const ConstantRange dividend = range(quotient->getOperand(0)).sextOrTrunc(bits);
      if (is_unsigned && !dividend.isAllNonNegative()) continue;
      const ConstantRange zero(llvm::APInt::getZero(bits));
      result = result.intersectWith(dividend.unionWith(zero, ConstantRange::Signed));
    }
    return result;
  }

  /// A bit operation needs no more bits than its operands have.
  ConstantRange of_bits(const llvm::BinaryOperator& operation, unsigned bits) {
    if (!operation.isBitwiseLogicOp()) return ConstantRange::getFull(bits);
    const unsigned width = std::max(range(operation.getOperand(0)).getMinSignedBits(),
                                    range(operation.getOperand(1)).getMinSignedBits());
    if (width == 0 || width >= bits) return ConstantRange::getFull(bits);  // 0: of values that never are
    return between(bits, -(std::int64_t{1} << (width - 1)), (std::int64_t{1} << (width - 1)) - 1);
  }

  llvm::IRBuilder<> builder_;
  std::unordered_map<const llvm::Value*, ConstantRange> ranges_;
};

}  // namespace

void narrow_integers(llvm::Function& function) {
  Narrowing narrowing(function);
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) narrowing.visit(instruction);
}

}  // namespace fa
