// What a value is over the tile: looked up, or interpreted from what it is made of.
#include "compiler/analysis/tile_class_transfer.h"

#include <fmt/format.h>

#include "fa/error.h"

namespace fa {

Transfer::Transfer(llvm::Function& mask, const MaskSides& sides, llvm::Function& tile_class,
                   llvm::IRBuilder<>& builder)
    : mask_(mask),
      sides_(sides),
      class_(tile_class),
      domain_(builder, argument("q_lo"), argument("q_hi"), argument("kv_lo"), argument("kv_hi")) {
  corner_[mask_.getArg(0)] = llvm::ConstantFP::get(mask_.getArg(0)->getType(), 0.0);
  corner_[mask_.getArg(1)] = argument("b");
  corner_[mask_.getArg(2)] = argument("h");
  corner_[mask_.getArg(3)] = argument("q_lo");
  corner_[mask_.getArg(4)] = argument("kv_lo");
  for (unsigned i = kFirstUniform; i < mask_.arg_size(); ++i) corner_[mask_.getArg(i)] = class_.getArg(i + 1);
}

llvm::Value* Transfer::argument(llvm::StringRef name) const {
  for (llvm::Argument& arg : class_.args())
    if (arg.getName() == name) return &arg;
  throw InternalError("tile_class lacks an argument");
}

AbstractInt Transfer::integer(llvm::Value* value) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
    return domain_.constant(constant->getSExtValue());
  const auto found = integers_.find(value);
  if (found != integers_.end()) return found->second;
  if (value == mask_.getArg(3)) return domain_.q_idx();
  if (value == mask_.getArg(4)) return domain_.kv_idx();
  if (const auto* arg = llvm::dyn_cast<llvm::Argument>(value)) {
    const llvm::Attribute range = arg->getAttribute(llvm::Attribute::Range);
    if (!range.isValid()) return domain_.point(corner_[value]);
    return domain_.point(corner_[value], range.getRange().getSignedMin().getSExtValue(),
                         range.getRange().getSignedMax().getSExtValue());
  }
  return domain_.anything();
}

AbstractBool Transfer::boolean(llvm::Value* value) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
    return domain_.known(domain_.builder().getInt1(constant->isOne()));
  const auto found = booleans_.find(value);
  return found != booleans_.end() ? found->second : domain_.unknown();
}

llvm::Value* Transfer::is_point(llvm::Value* value) {
  llvm::IRBuilder<>& builder = domain_.builder();
  if (llvm::isa<llvm::Constant>(value) || (depends(value) & (kQ | kKv | kScore)) == 0)
    return builder.getTrue();
  if (value->getType()->isIntegerTy(32)) return domain_.is_point(integer(value));
  if (value->getType()->isIntegerTy(1)) {
    const AbstractBool x = boolean(value);
    return builder.CreateNot(builder.CreateAnd(x.may_be_true, x.may_be_false));
  }
  return operands_are_points(*llvm::cast<llvm::Instruction>(value));
}

llvm::Value* Transfer::operands_are_points(llvm::Instruction& instruction) {
  llvm::IRBuilder<>& builder = domain_.builder();
  llvm::Value* all = builder.getTrue();
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  for (llvm::Use& operand : instruction.operands())
    if (call == nullptr || call->isArgOperand(&operand))
      all = builder.CreateAnd(all, is_point(operand.get()));
  return all;
}

void Transfer::visit(llvm::Instruction& instruction) {
  llvm::Instruction* copy = instruction.clone();
  domain_.builder().Insert(copy);
  for (llvm::Use& operand : copy->operands())
    if (const auto mapped = corner_.find(operand.get()); mapped != corner_.end()) operand.set(mapped->second);
  corner_[&instruction] = copy;
  const bool i32 = instruction.getType()->isIntegerTy(32);
  const bool i1 = instruction.getType()->isIntegerTy(1);
  if (!i32 && !i1) return;
  const int summary = sides_.summary_of(&instruction);
  if ((depends(&instruction) & (kQ | kKv)) == 0) {
    if (i32) integers_[&instruction] = domain_.point(copy);
    if (i1) booleans_[&instruction] = domain_.known(copy);
  } else if (summary >= 0) {
    llvm::Value* lo = argument(fmt::format("s{}_lo", summary));
    llvm::Value* hi = argument(fmt::format("s{}_hi", summary));
    llvm::IRBuilder<>& builder = domain_.builder();
    if (i32) integers_[&instruction] = domain_.interval(lo, hi, kI32Min, kI32Max);
    if (i1) {
      booleans_[&instruction] = {builder.CreateICmpNE(hi, builder.getInt32(0)),
                                 builder.CreateICmpEQ(lo, builder.getInt32(0))};
    }
  } else if (i32) {
    integers_[&instruction] = transfer_integer(instruction);
  } else {
    booleans_[&instruction] = transfer_boolean(instruction);
  }
}

void Transfer::note_imprecise(const llvm::Instruction& instruction) {
  if ((depends(&instruction) & (kQ | kKv)) != (kQ | kKv)) return;
  std::string what = instruction.getOpcodeName();
  if (llvm::isa<llvm::LoadInst>(instruction)) what = "a table read that depends on both q_idx and kv_idx";
  imprecise_.push_back(
      fmt::format("{}: known only where all that goes into it is the same over the tile", what));
}

}  // namespace fa
