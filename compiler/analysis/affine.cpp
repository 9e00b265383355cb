// The affine form of score_mod in the score.
#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/affine.h"

namespace fa {
namespace {

llvm::Constant* number(llvm::IRBuilderBase& builder, double value) {
  return llvm::ConstantFP::get(builder.getFloatTy(), value);
}

llvm::Value* added(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b) {
  if (is_zero(a)) return b;
  return is_zero(b) ? a : builder.CreateFAdd(a, b);
}

llvm::Value* subtract(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b) {
  if (is_zero(b)) return a;
  if (!is_zero(a)) return builder.CreateFSub(a, b);
  if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(b))
    return llvm::ConstantFP::get(constant->getContext(), llvm::neg(constant->getValueAPF()));
  return builder.CreateFNeg(b);
}

llvm::Value* multiply(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b) {
  if (is_zero(a) || is_one(b)) return a;
  return is_one(a) ? b : builder.CreateFMul(a, b);
}

llvm::Value* choose(llvm::IRBuilderBase& builder, llvm::Value* condition, llvm::Value* a, llvm::Value* b) {
  return a == b ? a : builder.CreateSelect(condition, a, b);
}

}  // namespace

bool is_zero(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
  return constant != nullptr && constant->isZero();
}

bool is_one(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
  return constant != nullptr && constant->isExactlyValue(1.0);
}

bool AffineForm::is_free(const llvm::Value* value) { return !dependence_.of(*value).has(DependsOn::score); }

std::optional<Affine> AffineForm::of(llvm::Value* value) {
  if (auto found = known_.find(value); found != known_.end()) return found->second;
  const std::optional<Affine> form = find(value);
  known_[value] = form;
  return form;
}

std::optional<Affine> AffineForm::find(llvm::Value* value) {
  if (value == score_) return Affine{number(builder_, 1), number(builder_, 0)};
  if (is_free(value)) return Affine{number(builder_, 0), value};

  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return std::nullopt;
  const auto operand = [&](unsigned i) { return of(instruction->getOperand(i)); };
  switch (instruction->getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub: {
      const std::optional<Affine> a = operand(0);
      const std::optional<Affine> b = a ? operand(1) : std::nullopt;
      if (!b) return std::nullopt;
      const auto join = instruction->getOpcode() == llvm::Instruction::FAdd ? added : subtract;
      return Affine{join(builder_, a->multiplier, b->multiplier), join(builder_, a->addend, b->addend)};
    }
    case llvm::Instruction::FNeg: {
      const std::optional<Affine> a = operand(0);
      if (!a) return std::nullopt;
      llvm::Value* zero = number(builder_, 0);
      return Affine{subtract(builder_, zero, a->multiplier), subtract(builder_, zero, a->addend)};
    }
    case llvm::Instruction::FMul: {
      const unsigned factor_at = is_free(instruction->getOperand(1)) ? 1 : 0;
      llvm::Value* factor = instruction->getOperand(factor_at);
      if (!is_free(factor)) return std::nullopt;
      const std::optional<Affine> a = operand(1 - factor_at);
      if (!a) return std::nullopt;
      return Affine{multiply(builder_, a->multiplier, factor), multiply(builder_, a->addend, factor)};
    }
    case llvm::Instruction::FDiv: {
      llvm::Value* divisor = instruction->getOperand(1);
      if (!is_free(divisor)) return std::nullopt;
      const std::optional<Affine> a = operand(0);
      if (!a) return std::nullopt;
      llvm::Value* factor = builder_.CreateFDiv(number(builder_, 1), divisor);
      return Affine{multiply(builder_, a->multiplier, factor), multiply(builder_, a->addend, factor)};
    }
    case llvm::Instruction::Select: {
      llvm::Value* condition = instruction->getOperand(0);
      const bool both = !is_free(instruction->getOperand(1)) && !is_free(instruction->getOperand(2));
      if (!is_free(condition) || !both) return std::nullopt;
      const std::optional<Affine> a = operand(1);
      const std::optional<Affine> b = a ? operand(2) : std::nullopt;
      if (!b) return std::nullopt;
      return Affine{choose(builder_, condition, a->multiplier, b->multiplier),
                    choose(builder_, condition, a->addend, b->addend)};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace fa
