#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>

#include "compiler/analysis/tiles/summary.h"
#include "compiler/ir/simplify.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Cloning.h>
#pragma GCC diagnostic pop

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
                                    const std::vector<std::string>& leading,
                                    const std::vector<ClassArgument>& trailing) {
  std::vector<llvm::Type*> types(leading.size(), llvm::Type::getInt32Ty(mask.getContext()));
  for (unsigned i = kFirstUniform; i < mask.arg_size(); ++i) types.push_back(mask.getArg(i)->getType());
  for (const ClassArgument& argument : trailing) types.push_back(argument.type);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                          llvm::Function::InternalLinkage, name, mask.getParent());
  unsigned index = 0;
  for (const std::string& argument_name : leading) function->getArg(index++)->setName(argument_name);
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

MaskSides::MaskSides(llvm::Function& mask, Summaries summaries) : mask_(mask) {
  find_dependences();
  if (summaries == Summaries::find) find_summaries();
}

unsigned MaskSides::depends(const llvm::Value* value) const {
  const auto found = depends_.find(value);
  return found == depends_.end() ? 0 : found->second;
}

int MaskSides::summary_of(const llvm::Value* value) const {
  const auto found = roots_.find(value);
  return found == roots_.end() ? -1 : found->second;
}

void MaskSides::find_dependences() {
  for (unsigned i = 0; i < kFirstUniform; ++i) depends_[mask_.getArg(i)] = 1u << i;
  for (const llvm::Instruction& instruction : mask_.getEntryBlock()) {
    unsigned bits = 0;
    for (const llvm::Value* operand : instruction.operands()) bits |= depends(operand);
    depends_[&instruction] = bits;
    bool opaque = is_opaque(instruction);
    for (const llvm::Value* operand : instruction.operands()) opaque |= opaque_.contains(operand);
    if (opaque && (bits & (kQ | kKv)) != 0) opaque_.insert(&instruction);  // one value for all is seen well
  }
  // What something of both sides uses, or what is made of it on the way to an address.
  for (const llvm::Instruction& instruction : llvm::reverse(mask_.getEntryBlock())) {
    const unsigned side = depends(&instruction) & (kQ | kKv);
    for (const llvm::User* user : instruction.users())
      if (llvm::isa<llvm::ReturnInst>(user) || (depends(user) & (kQ | kKv)) != side ||
          (!has_extrema(*user->getType()) && leaves_side_.contains(user)))
        leaves_side_.insert(&instruction);
  }
}

void MaskSides::find_summaries() {
  for (const unsigned of_side : {kQ, kKv}) {
    const int first = static_cast<int>(summaries_.size());
    for (llvm::Instruction& instruction : mask_.getEntryBlock())
      if (is_summary(instruction, of_side) && static_cast<int>(summaries_.size()) < first + kMostSummaries)
        roots_[&instruction] = add_summary(instruction, of_side == kQ);
  }
}

/// A part of one side that bounds see badly, as large as it goes.
bool MaskSides::is_summary(const llvm::Instruction& instruction, unsigned of_side) const {
  return has_extrema(*instruction.getType()) && (depends(&instruction) & (kQ | kKv)) == of_side &&
         opaque_.contains(&instruction) && leaves_side_.contains(&instruction);
}

int MaskSides::add_summary(llvm::Instruction& root, bool of_query) {
  const int index = static_cast<int>(summaries_.size());
  const bool is_float = root.getType()->isFloatTy();
  llvm::Type* const type = is_float ? root.getType() : llvm::Type::getInt32Ty(mask_.getContext());
  llvm::Function* function =
      make_class_function(mask_, type, fmt::format("summary.{}", index), {"b", "h", "idx"}, {});
  llvm::IRBuilder<> builder(&function->getEntryBlock());
  llvm::ValueToValueMapTy map;
  map[mask_.getArg(0)] = llvm::PoisonValue::get(mask_.getArg(0)->getType());
  map[mask_.getArg(1)] = function->getArg(0);
  map[mask_.getArg(2)] = function->getArg(1);
  map[mask_.getArg(3)] = function->getArg(2);  // the side that is not asked for does not occur
  map[mask_.getArg(4)] = function->getArg(2);
  for (unsigned i = kFirstUniform; i < mask_.arg_size(); ++i) map[mask_.getArg(i)] = function->getArg(i - 2);
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
