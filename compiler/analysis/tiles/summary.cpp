#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/cloning.h"
#include "compiler/ir/llvm/pattern_match.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>

#include "compiler/analysis/tiles/summary.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

using namespace llvm::PatternMatch;

/// `(x ^ y) < 0`, as division that rounds down has it: the signs differ, which intervals show.
bool asks_for_signs(const llvm::Instruction& instruction) {
  for (const llvm::User* user : instruction.users()) {
    llvm::CmpInst::Predicate predicate{};
    if (!match(user, m_ICmp(predicate, m_Specific(&instruction), m_Zero())) ||
        predicate != llvm::CmpInst::ICMP_SLT)
      return false;
  }
  return true;
}

/// Types of what a summary may be.
bool has_extrema(const llvm::Type& type) {
  return type.isIntegerTy(32) || type.isIntegerTy(1) || type.isFloatTy();
}

/// Operations whose interval says little, so that evaluating every index is worth it.
bool is_opaque(const llvm::Instruction& instruction) {
  using llvm::Instruction;
  if (!instruction.getType()->isIntegerTy()) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Intrinsic::ID id = call == nullptr ? 0 : call->getIntrinsicID();
    return llvm::isa<llvm::LoadInst>(instruction) || id == llvm::Intrinsic::sin || id == llvm::Intrinsic::cos;
  }
  switch (instruction.getOpcode()) {
    case Instruction::Load:
      return true;
    case Instruction::Xor:
      return !instruction.getType()->isIntegerTy(1) && !asks_for_signs(instruction);
    case Instruction::Or:
      return !instruction.getType()->isIntegerTy(1) &&
             !llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint();
    case Instruction::And: {
      const llvm::APInt* bits = nullptr;
      if (instruction.getType()->isIntegerTy(1)) return false;
      return !match(instruction.getOperand(1), m_APInt(bits)) ||
             !((*bits + 1).isPowerOf2() || bits->isNegatedPowerOf2());
    }
    default:
      return false;
  }
}

}  // namespace

llvm::Function* make_class_function(llvm::Function& mask, llvm::Type* result, const std::string& name,
                                    std::span<const char* const> leading,
                                    const std::vector<ClassArgument>& trailing) {
  std::vector<llvm::Type*> types(leading.size(), llvm::Type::getInt32Ty(mask.getContext()));
  for (unsigned i = kFirstUniform; i < mask.arg_size(); ++i) types.push_back(mask.getArg(i)->getType());
  for (const ClassArgument& argument : trailing) types.push_back(argument.type);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                          llvm::Function::InternalLinkage, name, mask.getParent());
  unsigned index = 0;
  const llvm::ConstantRange indices(llvm::APInt(32, 0), llvm::APInt(32, kMaxLength));
  for (const char* argument_name : leading) {
    function->getArg(index)->setName(argument_name);
    function->getArg(index++)->addAttr(
        llvm::Attribute::get(mask.getContext(), llvm::Attribute::Range, indices));
  }
  for (unsigned i = kFirstUniform; i < mask.arg_size(); ++i, ++index) {
    function->getArg(index)->setName(mask.getArg(i)->getName());
    function->addParamAttrs(index,
                            llvm::AttrBuilder(mask.getContext(), mask.getAttributes().getParamAttrs(i)));
  }
  for (const ClassArgument& argument : trailing) function->getArg(index++)->setName(argument.name);
  function->addFnAttrs(llvm::AttrBuilder(mask.getContext(), mask.getAttributes().getFnAttrs()));
  llvm::BasicBlock::Create(mask.getContext(), "entry", function);
  return function;
}

MaskSides::MaskSides(llvm::Function& mask, Summaries summaries) : mask_(mask), dependence_(mask) {
  find_opaque();
  if (summaries == Summaries::find) find_summaries();
}

int MaskSides::summary_of(const llvm::Value* value) const {
  const auto found = roots_.find(value);
  return found == roots_.end() ? -1 : found->second;
}

void MaskSides::find_opaque() {
  for (const llvm::Instruction& instruction : mask_.getEntryBlock()) {
    bool opaque = is_opaque(instruction);
    for (const llvm::Value* operand : instruction.operands()) opaque |= opaque_.contains(operand);
    // One value for all is seen well.
    if (opaque && depends(&instruction).sides() != 0) opaque_.insert(&instruction);
  }
  // What something of both sides uses, or what is made of it on the way to an address.
  for (const llvm::Instruction& instruction : llvm::reverse(mask_.getEntryBlock())) {
    const unsigned side = depends(&instruction).sides();
    for (const llvm::User* user : instruction.users())
      if (llvm::isa<llvm::ReturnInst>(user) || depends(user).sides() != side ||
          (!has_extrema(*user->getType()) && leaves_side_.contains(user)))
        leaves_side_.insert(&instruction);
  }
}

void MaskSides::find_summaries() {
  for (const unsigned of_side : {DependsOn::q, DependsOn::kv}) {
    const int first = static_cast<int>(summaries_.size());
    for (llvm::Instruction& instruction : mask_.getEntryBlock())
      if (is_summary(instruction, of_side) && static_cast<int>(summaries_.size()) < first + kMostSummaries)
        roots_[&instruction] = add_summary(instruction, of_side == DependsOn::q);
  }
}

/// A part of one side that bounds see badly, as large as it goes.
bool MaskSides::is_summary(const llvm::Instruction& instruction, unsigned of_side) const {
  return has_extrema(*instruction.getType()) && depends(&instruction).sides() == of_side &&
         opaque_.contains(&instruction) && leaves_side_.contains(&instruction);
}

int MaskSides::add_summary(llvm::Instruction& root, bool of_query) {
  const int index = static_cast<int>(summaries_.size());
  const bool is_float = root.getType()->isFloatTy();
  llvm::Type* const type = is_float ? root.getType() : llvm::Type::getInt32Ty(mask_.getContext());
  llvm::Function* function =
      make_class_function(mask_, type, fmt::format("summary.{}", index), kSummaryArgNames, {});
  llvm::IRBuilder<> builder(&function->getEntryBlock());
  llvm::ValueToValueMapTy map;
  llvm::Argument* const score = hook_argument(mask_, HookArgKind::score);
  map[score] = llvm::PoisonValue::get(score->getType());
  map[hook_argument(mask_, HookArgKind::b)] = summary_argument(*function, SummaryArg::b);
  map[hook_argument(mask_, HookArgKind::h)] = summary_argument(*function, SummaryArg::h);
  // The side that is not asked for does not occur.
  for (const HookArgKind side : {HookArgKind::q_idx, HookArgKind::kv_idx})
    map[hook_argument(mask_, side)] = summary_argument(*function, SummaryArg::idx);
  for (llvm::Argument& argument : llvm::drop_begin(mask_.args(), kFirstUniform))
    map[&argument] = uniform_in(*function, std::size(kSummaryArgNames), argument);
  for (llvm::Instruction& instruction : mask_.getEntryBlock()) {
    if (instruction.isTerminator()) break;
    llvm::Instruction* copy = instruction.clone();
    builder.Insert(copy);
    llvm::RemapInstruction(copy, map, llvm::RF_None);
    map[&instruction] = copy;
    if (&instruction == &root) break;
  }
  llvm::Value* value = map[&root];
  if (value->getType()->isIntegerTy(1)) value = builder.CreateZExt(value, builder.getInt32Ty());
  builder.CreateRet(value);
  simplify(*function);
  summaries_.push_back({.function = function, .of_query = of_query, .is_float = is_float});
  return index;
}

}  // namespace fa
