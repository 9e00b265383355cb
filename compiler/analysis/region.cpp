// Finds the tree by walking from block to block: a block with phis opens a loop, the conditional branch back
// to it closes it.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>

#include "compiler/analysis/region.h"
#include "compiler/spec/spec.h"
#include "fa/error.h"

namespace fa {
namespace {

[[noreturn]] void not_a_tree() {
  throw InternalError("a hook's control flow is not made of straight-line code and counted loops");
}

// The least constant that a minimum holds the value to.
int at_most(const llvm::Value& value) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value))
    return static_cast<int>(constant->getSExtValue());
  int most = kMaxReduction;
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&value)) {
    const bool is_min = call->getIntrinsicID() == llvm::Intrinsic::smin;
    if (!is_min && call->getIntrinsicID() != llvm::Intrinsic::smax) return most;
    const int a = at_most(*call->getArgOperand(0)), b = at_most(*call->getArgOperand(1));
    most = is_min ? std::min(a, b) : std::max(a, b);
  }
  return std::min(most, kMaxReduction);
}

int trip_count_of(const llvm::Value& condition) {
  const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&condition);
  if (compare == nullptr) not_a_tree();
  return at_most(*compare->getOperand(1));
}

// Fills `region` from `block` on. Inside a loop (`header` not null) it stops at the branch back to `header`
// and returns the block after the loop; else it stops at the return.
const llvm::BasicBlock* walk(const llvm::BasicBlock* block, const llvm::BasicBlock* header, Region& region,
                             Loop* loop) {
  for (bool at_header = header != nullptr;;) {
    if (!at_header && !block->phis().empty()) {
      auto inner = std::make_unique<Loop>();
      const llvm::BasicBlock* after = walk(block, block, inner->body, inner.get());
      region.items.push_back({nullptr, std::move(inner)});
      block = after;
      continue;
    }
    at_header = false;
    for (const llvm::Instruction& instruction : *block)
      if (!llvm::isa<llvm::PHINode>(instruction) && !instruction.isTerminator())
        region.items.push_back({&instruction, nullptr});

    const llvm::Instruction* end = block->getTerminator();
    if (const auto* result = llvm::dyn_cast<llvm::ReturnInst>(end)) {
      if (loop != nullptr) not_a_tree();
      region.result = result->getReturnValue();
      return nullptr;
    }
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(end);
    if (branch == nullptr) not_a_tree();
    if (branch->isUnconditional()) {
      block = branch->getSuccessor(0);
      continue;
    }
    if (loop == nullptr) not_a_tree();
    const bool goes_on_if = branch->getSuccessor(0) == header;
    if (!goes_on_if && branch->getSuccessor(1) != header) not_a_tree();
    loop->condition = branch->getCondition();
    loop->goes_on_if = goes_on_if;
    loop->trip_count = trip_count_of(*loop->condition);
    for (const llvm::PHINode& phi : header->phis()) {
      if (phi.getNumIncomingValues() != 2) not_a_tree();
      const unsigned back = phi.getIncomingBlock(0) == block ? 0 : 1;
      loop->carried.push_back({&phi, phi.getIncomingValue(1 - back), phi.getIncomingValue(back)});
    }
    return branch->getSuccessor(goes_on_if ? 1 : 0);
  }
}

}  // namespace

Region region_of(const llvm::Function& function) {
  Region region;
  walk(&function.getEntryBlock(), nullptr, region, nullptr);
  return region;
}

}  // namespace fa
