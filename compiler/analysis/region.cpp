// Finds the tree by walking from block to block: a block with phis opens a loop, the conditional branch back
// to it closes it.
#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/region.h"
#include "fa/error.h"

namespace fa {
namespace {

[[noreturn]] void not_a_tree() {
  throw InternalError("a hook's control flow is not made of straight-line code and counted loops");
}

int trip_count_of(const llvm::Value& condition) {
  const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&condition);
  const auto* limit = compare ? llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1)) : nullptr;
  if (limit == nullptr) not_a_tree();
  return static_cast<int>(limit->getSExtValue());
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
