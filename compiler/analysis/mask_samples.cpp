#include "compiler/analysis/mask_samples.h"

#include <utility>
#include <variant>

#include "compiler/ir/llvm/folding.h"

namespace fa {
namespace {

double usual_value(const CheckedSpec& spec, HookArgKind kind, int length) {
  if (kind == HookArgKind::q_len || kind == HookArgKind::kv_len) return length;
  if (kind == HookArgKind::scale) return spec.scale;
  const bool is_count = kind != HookArgKind::b && kind != HookArgKind::h && kind != HookArgKind::score;
  return is_count ? 1 : 0;
}

llvm::Constant* constant(const llvm::Argument& argument, double value) {
  llvm::Type* type = argument.getType();
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, value);
  return llvm::ConstantInt::getSigned(type, static_cast<std::int64_t>(value));
}

double number_of(const Scalar& scalar) {
  return std::visit([](auto number) { return static_cast<double>(number); }, scalar);
}

}  // namespace

MaskSamples::MaskSamples(const CheckedSpec& spec, const llvm::Function& mask_mod, int length)
    : mask_(mask_mod), length_(length) {
  const HookSignature signature(spec);
  for (unsigned i = 0; i < signature.size(); ++i) {
    const HookArg& argument = signature[i];
    if (argument.kind == HookArgKind::tensor) continue;  // what reads one is not known
    const double value = argument.kind == HookArgKind::param
                             ? number_of(spec.params[static_cast<std::size_t>(argument.index)].default_value)
                             : usual_value(spec, argument.kind, length);
    values_[mask_mod.getArg(i)] = constant(*mask_mod.getArg(i), value);
  }
}

std::optional<bool> MaskSamples::keeps(int q_idx, int kv_idx) {
  if (mask_.size() != 1) return {};
  set(HookArgKind::q_idx, q_idx);
  set(HookArgKind::kv_idx, kv_idx);
  for (const llvm::Instruction& instruction : mask_.getEntryBlock())
    if (!instruction.isTerminator()) values_[&instruction] = fold(instruction);
  const auto* end = llvm::cast<llvm::ReturnInst>(mask_.getEntryBlock().getTerminator());
  const auto* result = llvm::dyn_cast_or_null<llvm::ConstantInt>(value_of(end->getReturnValue()));
  if (result == nullptr) return {};
  return result->isOne();
}

void MaskSamples::set(HookArgKind index, int value) {
  const llvm::Argument* argument = hook_argument(mask_, index);
  values_[argument] = constant(*argument, value);
}

llvm::Constant* MaskSamples::value_of(llvm::Value* value) const {
  if (auto* known = llvm::dyn_cast<llvm::Constant>(value)) return known;
  const auto found = values_.find(value);
  return found == values_.end() ? nullptr : found->second;
}

/// Null where an operand is not known or the instruction reads memory.
llvm::Constant* MaskSamples::fold(const llvm::Instruction& instruction) {
  llvm::SmallVector<llvm::Constant*, 4> operands;
  for (const llvm::Use& operand : instruction.operands()) {
    operands.push_back(value_of(operand.get()));
    if (operands.back() == nullptr) return nullptr;
  }
  const llvm::DataLayout& layout = mask_.getParent()->getDataLayout();
  if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction))
    return llvm::ConstantFoldCompareInstOperands(compare->getPredicate(), operands[0], operands[1], layout);
  return llvm::ConstantFoldInstOperands(const_cast<llvm::Instruction*>(&instruction), operands, layout);
}

}  // namespace fa
