#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/analysis/tile_class_summary.h"
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

/// The n for which `use`, of an index that is never negative, depends on floor(index / n) alone.
int indices_alike(const llvm::User& use, const llvm::Value& index) {
  constexpr unsigned kMostBits = 24;  // of an index
  const llvm::APInt* by = nullptr;
  llvm::CmpInst::Predicate predicate{};
  if (match(&use, m_Shr(m_Specific(&index), m_APInt(by))) && by->ult(kMostBits))
    return 1 << by->getZExtValue();
  if ((match(&use, m_SDiv(m_Specific(&index), m_APInt(by))) ||
       match(&use, m_UDiv(m_Specific(&index), m_APInt(by)))) &&
      by->isStrictlyPositive())
    return static_cast<int>(by->getSExtValue());
  if (match(&use, m_ICmp(predicate, m_Specific(&index), m_APInt(by))) && by->isStrictlyPositive() &&
      by->getActiveBits() <= kMostBits) {
    const int bound = static_cast<int>(by->getSExtValue());
    switch (predicate) {
      case llvm::CmpInst::ICMP_SLT:
      case llvm::CmpInst::ICMP_ULT:
      case llvm::CmpInst::ICMP_SGE:
      case llvm::CmpInst::ICMP_UGE:
        return bound;
      case llvm::CmpInst::ICMP_SGT:
      case llvm::CmpInst::ICMP_UGT:
      case llvm::CmpInst::ICMP_SLE:
      case llvm::CmpInst::ICMP_ULE:
        return bound + 1;
      default:
        break;
    }
  }
  return 1;
}

}  // namespace

llvm::Function* make_class_function(llvm::Function& mask, const std::string& name,
                                    const std::vector<std::string>& leading,
                                    const std::vector<std::string>& trailing) {
  llvm::Type* i32 = llvm::Type::getInt32Ty(mask.getContext());
  std::vector<llvm::Type*> types(leading.size(), i32);
  for (unsigned i = kFirstUniform; i < mask.arg_size(); ++i) types.push_back(mask.getArg(i)->getType());
  types.insert(types.end(), trailing.size(), i32);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(i32, types, false),
                                          llvm::Function::InternalLinkage, name, mask.getParent());
  unsigned index = 0;
  for (const std::string& argument_name : leading) function->getArg(index++)->setName(argument_name);
  for (unsigned i = kFirstUniform; i < mask.arg_size(); ++i, ++index) {
    function->getArg(index)->setName(mask.getArg(i)->getName());
    function->addParamAttrs(index,
                            llvm::AttrBuilder(mask.getContext(), mask.getAttributes().getParamAttrs(i)));
  }
  for (const std::string& argument_name : trailing) function->getArg(index++)->setName(argument_name);
  function->addFnAttrs(llvm::AttrBuilder(mask.getContext(), mask.getAttributes().getFnAttrs()));
  llvm::BasicBlock::Create(mask.getContext(), "entry", function);
  return function;
}

MaskSides::MaskSides(llvm::Function& mask, Summaries summaries) : mask_(mask) {
  find_dependences();
  if (summaries == Summaries::none) return;
  find_rows_a_block();
  find_summaries();
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
    if (opaque) opaque_[&instruction] = true;
  }
}

/// Every use of the index itself has to be a division by, or a comparison with, a multiple of one number.
int MaskSides::alike(unsigned index) const {
  const llvm::Argument& argument = *mask_.getArg(index);
  int count = 0;
  for (const llvm::User* user : argument.users()) count = std::gcd(count, indices_alike(*user, argument));
  return std::max(count, 1);
}

void MaskSides::find_rows_a_block() {
  constexpr int kFewest = 64;  // kernels have tiles of at most 128 rows, at multiples of 32
  bool needs_summary = false;
  for (const llvm::Instruction& instruction : mask_.getEntryBlock())
    needs_summary |= (depends(&instruction) & (kQ | kKv)) == kQ && opaque_.contains(&instruction);
  const int rows = alike(kQIdx);
  if (needs_summary && rows >= kFewest) rows_a_block_ = rows;
}

void MaskSides::find_summaries() {
  for (llvm::Instruction& instruction : mask_.getEntryBlock()) {
    const unsigned side = depends(&instruction) & (kQ | kKv);
    if ((side != kQ && side != kKv) || !opaque_.contains(&instruction)) continue;
    if (side == kQ && rows_a_block_ > 0) continue;
    const bool i32 = instruction.getType()->isIntegerTy(32);
    const bool i1 = instruction.getType()->isIntegerTy(1);
    if (!i32 && !i1) continue;
    bool maximal = false;
    for (const llvm::User* user : instruction.users()) {
      const auto* next = llvm::cast<llvm::Instruction>(user);
      const unsigned next_side = depends(next) & (kQ | kKv);
      maximal |= llvm::isa<llvm::ReturnInst>(next) || next_side != side;
    }
    if (maximal) roots_[&instruction] = add_summary(instruction, side == kQ);
  }
}

int MaskSides::add_summary(llvm::Instruction& root, bool of_query) {
  const int index = static_cast<int>(summaries_.size());
  llvm::Function* function =
      make_class_function(mask_, fmt::format("summary.{}", index), {"b", "h", "idx"}, {});
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
  const unsigned bits = depends(&root);
  summaries_.push_back({.function = function,
                        .of_query = of_query,
                        .depends_on_b = (bits & kB) != 0,
                        .depends_on_h = (bits & kH) != 0});
  return index;
}

}  // namespace fa
