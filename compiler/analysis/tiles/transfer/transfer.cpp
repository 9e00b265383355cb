#include "compiler/analysis/tiles/transfer/transfer.h"

#include <algorithm>

#include "fa/error.h"

namespace fa {
namespace {

// Instructions before they are simplified. Of the classes that are short enough in the end (kMostCode of
// tile_class.cpp) the longest had 11,622; simplifying half a million takes LLVM seconds.
constexpr std::size_t kMostWritten = 16384;
constexpr int kQuestionsBetweenLooks = 32;  // finding the length takes as long as it is
// Questions about operands of operands: each takes about 1 KiB of the stack, 5 with sanitizers, and a caller's thread may
// have half a MiB. The deepest class of the tests takes 31.
constexpr int kDeepest = 128;

/// Whether an f32 can be one number where what it is made of is not.
bool may_saturate(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Intrinsic::ID id = call == nullptr ? 0 : call->getIntrinsicID();
  return id == llvm::Intrinsic::minnum || id == llvm::Intrinsic::maxnum || id == llvm::Intrinsic::floor;
}

/// What bounds do not see through, in the words of the language.
std::string in_words(const llvm::Instruction& instruction) {
  using llvm::Instruction;
  const std::string of_both = " of a number that depends on both q_idx and kv_idx";
  // A bool is a byte in memory, compared with 0.
  if (llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::LoadInst>(instruction.getOperand(0)))
    return "a table read at indices of both q_idx and kv_idx";
  switch (instruction.getOpcode()) {
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
      return "`&`, `|` or `^`" + of_both;
    case Instruction::Shl:
    case Instruction::AShr:
    case Instruction::LShr:
      return "`<<` or `>>`" + of_both;
    case Instruction::SDiv:
    case Instruction::UDiv:
    case Instruction::SRem:
    case Instruction::URem:
      return "`/` or `%`" + of_both;
    default:
      break;
  }
  const bool of_floats =
      instruction.getType()->isFloatTy() || instruction.getOperand(0)->getType()->isFloatTy();
  return of_floats ? "floats that depend on both q_idx and kv_idx"
                   : "a value that depends on both q_idx and kv_idx";
}

}  // namespace

Transfer::Transfer(llvm::Function& mask, const MaskSides& sides, llvm::Function& tile_class,
                   llvm::IRBuilder<>& builder)
    : mask_(mask), sides_(sides), class_(tile_class) {
  domains_.emplace_back(builder, Domain::tile(builder, argument(ClassArg::q_lo), argument(ClassArg::q_hi),
                                              argument(ClassArg::kv_lo), argument(ClassArg::kv_hi)));
  // The mask at the tile's first element: where all that goes into a value is the same over the tile, this is
  // it. What is not asked for goes when the function is simplified.
  const auto of_mask = [&](HookArgKind kind) { return hook_argument(mask_, kind); };
  corner_[of_mask(HookArgKind::score)] = llvm::ConstantFP::get(of_mask(HookArgKind::score)->getType(), 0.0);
  corner_[of_mask(HookArgKind::b)] = argument(ClassArg::b);
  corner_[of_mask(HookArgKind::h)] = argument(ClassArg::h);
  corner_[of_mask(HookArgKind::q_idx)] = argument(ClassArg::q_lo);
  corner_[of_mask(HookArgKind::kv_idx)] = argument(ClassArg::kv_lo);
  for (const llvm::Argument& argument : llvm::drop_begin(mask_.args(), kFirstUniform))
    corner_[&argument] = uniform_in(class_, std::size(kClassArgNames), argument);
  for (llvm::Instruction& instruction : mask_.getEntryBlock()) {
    if (instruction.isTerminator()) break;
    llvm::Instruction* copy = instruction.clone();
    builder.Insert(copy);
    for (llvm::Use& operand : copy->operands())
      if (const auto mapped = corner_.find(operand.get()); mapped != corner_.end())
        operand.set(mapped->second);
    corner_[&instruction] = copy;
  }
}

llvm::Value* Transfer::corner(llvm::Value* value) const {
  return llvm::isa<llvm::Constant>(value) ? value : corner_.at(value);
}

bool Transfer::is_too_long() {
  if (depth_ > kDeepest) is_too_long_ = true;
  if (!is_too_long_ && asked_++ % kQuestionsBetweenLooks == 0)
    is_too_long_ = class_.getEntryBlock().size() > kMostWritten;
  return is_too_long_;
}

AbstractInt Transfer::integer(llvm::Value* value, const Domain& where) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
    return where.constant(constant->getSExtValue());
  if (value == hook_argument(mask_, HookArgKind::q_idx)) return where.q_idx();
  if (value == hook_argument(mask_, HookArgKind::kv_idx)) return where.kv_idx();
  if (const auto* arg = llvm::dyn_cast<llvm::Argument>(value)) {
    const llvm::Attribute range = arg->getAttribute(llvm::Attribute::Range);
    if (!range.isValid()) return where.point(corner(value));
    return where.point(corner(value), range.getRange().getSignedMin().getSExtValue(),
                       range.getRange().getSignedMax().getSExtValue());
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !value->getType()->isIntegerTy(32)) return where.anything();
  const auto key = std::make_tuple(static_cast<const llvm::Value*>(value), &where);
  if (const auto found = integers_.find(key); found != integers_.end()) return found->second;
  const Nested nested(depth_);
  if (is_too_long()) return where.anything();
  return integers_[key] = interpret(*instruction, where);
}

AbstractInt Transfer::interpret(llvm::Instruction& instruction, const Domain& where) {
  if (is_uniform(&instruction)) return where.point(corner(&instruction));
  if (const int summary = sides_.summary_of(&instruction); summary >= 0)
    return where.interval(end_of(summary, false), end_of(summary, true), kI32Min, kI32Max);
  return transfer_integer(instruction, where);
}

llvm::Value* Transfer::may(llvm::Value* condition, bool wanted, const Domain& where) {
  llvm::IRBuilder<>& builder = where.builder();
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return builder.getInt1(constant->isOne() == wanted);
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(condition);
  if (instruction == nullptr) return builder.getTrue();
  const auto key = std::make_tuple(static_cast<const llvm::Value*>(condition), wanted, &where);
  if (const auto found = conditions_.find(key); found != conditions_.end()) return found->second;
  const Nested nested(depth_);
  if (is_too_long()) return builder.getTrue();
  return conditions_[key] = interpret(*instruction, wanted, where);
}

llvm::Value* Transfer::is_point(llvm::Value* value) {
  llvm::IRBuilder<>& builder = tile().builder();
  if (llvm::isa<llvm::Constant>(value) || is_uniform(value)) return builder.getTrue();
  if (const auto found = points_.find(value); found != points_.end()) return found->second;
  const Nested nested(depth_);
  if (is_too_long()) return builder.getFalse();
  return points_[value] = find_is_point(value);
}

llvm::Value* Transfer::find_is_point(llvm::Value* value) {
  llvm::IRBuilder<>& builder = tile().builder();
  if (value->getType()->isIntegerTy(32)) return tile().is_point(integer(value, tile()));
  if (value->getType()->isIntegerTy(1)) {
    const AbstractBool x = boolean(value, tile());
    return builder.CreateNot(builder.CreateAnd(x.may_be_true, x.may_be_false));
  }
  auto& instruction = *llvm::cast<llvm::Instruction>(value);
  llvm::Value* const made_of_points = operands_are_points(instruction);
  if (!value->getType()->isFloatTy() || !may_saturate(instruction)) return made_of_points;
  const AbstractFloat x = real(value, tile());
  return builder.CreateOr(made_of_points, builder.CreateAnd(x.known, builder.CreateFCmpOEQ(x.lo, x.hi)));
}

llvm::Value* Transfer::operands_are_points(llvm::Instruction& instruction) {
  llvm::IRBuilder<>& builder = tile().builder();
  llvm::Value* all = builder.getTrue();
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  for (llvm::Use& operand : instruction.operands())
    if (call == nullptr || call->isArgOperand(&operand))
      all = builder.CreateAnd(all, is_point(operand.get()));
  return all;
}

void Transfer::note_imprecise(const llvm::Instruction& instruction) {
  if (depends(&instruction).has_all(DependsOn::q | DependsOn::kv)) note(in_words(instruction));
}

void Transfer::note(const std::string& what) {
  if (std::find(imprecise_.begin(), imprecise_.end(), what) == imprecise_.end()) imprecise_.push_back(what);
}

}  // namespace fa
