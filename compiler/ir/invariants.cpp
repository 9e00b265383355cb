#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "compiler/ir/invariants.h"

namespace fa {
namespace {

/// The blocks first..last, in program order, and the one that enters them.
struct LoopBlocks {
  int first = 0, last = 0;
  llvm::BasicBlock* before = nullptr;

  bool holds(int block) const { return first <= block && block <= last; }
};

std::unordered_map<const llvm::BasicBlock*, int> numbers_of(llvm::Function& function) {
  std::unordered_map<const llvm::BasicBlock*, int> numbers;
  for (const llvm::BasicBlock& block : function) numbers.emplace(&block, static_cast<int>(numbers.size()));
  return numbers;
}

/// Outer loops before those inside them.
std::vector<LoopBlocks> loops_of(llvm::Function& function,
                                 const std::unordered_map<const llvm::BasicBlock*, int>& numbers) {
  std::vector<LoopBlocks> loops;
  for (llvm::BasicBlock& block : function) {
    if (block.phis().empty()) continue;
    LoopBlocks loop{.first = numbers.at(&block)};
    for (llvm::BasicBlock* from : llvm::predecessors(&block)) {
      if (numbers.at(from) < loop.first)
        loop.before = from;
      else
        loop.last = numbers.at(from);
    }
    loops.push_back(loop);
  }
  return loops;
}

}  // namespace

void hoist_invariants(llvm::Function& function) {
  const auto numbers = numbers_of(function);
  const std::vector<LoopBlocks> loops = loops_of(function, numbers);
  if (loops.empty()) return;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator()) continue;
      const int here = numbers.at(&block);
      const auto changes_in = [&](const LoopBlocks& loop) {
        return std::any_of(instruction.op_begin(), instruction.op_end(), [&](const llvm::Use& operand) {
          const auto* from = llvm::dyn_cast<llvm::Instruction>(operand);
          return from != nullptr && loop.holds(numbers.at(from->getParent()));
        });
      };
      const auto outermost = std::find_if(loops.begin(), loops.end(), [&](const LoopBlocks& loop) {
        return loop.holds(here) && !changes_in(loop);
      });
      if (outermost != loops.end()) instruction.moveBefore(outermost->before->getTerminator());
    }
}

}  // namespace fa
