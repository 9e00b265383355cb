// Walks backwards from the operands of every decision, through floats alone: an integer on the way is a
// decision of its own.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <unordered_set>
#include <vector>

#include "compiler/ir/decisions.h"

namespace fa {
namespace {

using Values = std::unordered_set<const llvm::Value*>;

/// The argument `score` and everything that is computed from it.
Values computed_from_score(const llvm::Function& function) {
  Values found = {function.getArg(0)};
  std::vector<const llvm::Value*> open = {function.getArg(0)};
  while (!open.empty()) {
    const llvm::Value* value = open.back();
    open.pop_back();
    for (const llvm::User* user : value->users())
      if (found.insert(user).second) open.push_back(user);
  }
  return found;
}

}  // namespace

bool rounds_to_whole(const llvm::CallBase& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::fptosi_sat:
      return true;
    default:
      return false;
  }
}

void keep_decisions_exact(llvm::Function& function) {
  const Values by_score = computed_from_score(function);
  Values seen;
  std::vector<llvm::Instruction*> open;
  const auto ask = [&](llvm::Value* value) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || !instruction->getType()->isFloatTy() || by_score.contains(instruction))
      return;
    if (seen.insert(instruction).second) open.push_back(instruction);
  };
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : block) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (llvm::isa<llvm::FCmpInst>(instruction)) {
        ask(instruction.getOperand(0));
        ask(instruction.getOperand(1));
      } else if (call != nullptr && rounds_to_whole(*call)) {
        ask(call->getArgOperand(0));
      }
    }
  while (!open.empty()) {
    llvm::Instruction* instruction = open.back();
    open.pop_back();
    if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction->setHasAllowContract(false);
    for (llvm::Value* operand : instruction->operand_values()) ask(operand);
  }
}

}  // namespace fa
