// One straight function: what it calls in its own file inlined, its local variables turned into values, its
// loops unrolled whole. Branches stay; translation turns what they choose into `where`.
//
// The passes are few, and none needs to know a machine. InstCombine stays out, for the reason that simplify.h
// states.
#include "compiler/ir/import/parts.h"
// after llvm.h
#include <fmt/format.h>

#include <iterator>
#include <set>
#include <unordered_map>

#include "compiler/ir/llvm/cloning.h"
#include "compiler/ir/llvm/flow.h"
#include "compiler/ir/llvm/passes.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

// A hook is evaluated for every score: past this size it is a mistake.
constexpr std::size_t kMostInstructions = 8192;
constexpr unsigned kLongestLoop = 4096;
constexpr std::size_t kDeepestCalls = 64;
constexpr unsigned kMostCases = 1024;  // of all switches: each is a comparison
constexpr unsigned kMostPhis = 1024;   // of one block: LLVM recurses from one to the next

std::string shown(const llvm::Function& function) { return "@" + function.getName().str(); }

void refuse_size(const llvm::Function& hook) {
  if (hook.getInstructionCount() <= kMostInstructions) return;
  throw Refusal{
      fmt::format("{}: {} instructions once calls are inlined and loops unrolled; at most {} are taken",
                  shown(hook), hook.getInstructionCount(), kMostInstructions),
      "a hook runs for every score: move what does not depend on it into a tensor"};
}

/// Few instructions that still take LLVM or a kernel too long.
void refuse_wide_blocks(const llvm::Function& hook) {
  unsigned cases = 0;
  for (const llvm::BasicBlock& block : hook) {
    if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(block.getTerminator()))
      if (cases += choice->getNumCases(); cases > kMostCases)
        throw Refusal{fmt::format("{}: `switch` has {} cases; at most {} are taken in a hook", shown(hook),
                                  cases, kMostCases),
                      "each is compared with for every score: read the answer from a tensor instead"};
    const auto phis = static_cast<unsigned>(std::distance(block.phis().begin(), block.phis().end()));
    if (phis > kMostPhis)
      throw Refusal{fmt::format("{}: {} variables meet at one place; at most {} are taken", shown(hook), phis,
                                kMostPhis),
                    "keep what a loop carries in fewer variables"};
  }
}

/// Attributes of functions are promises and wishes to the optimiser (noinline, optnone, a CPU's name). Those
/// of intrinsics are LLVM's own: whatever the file says, they are known not to touch memory.
void drop_attributes(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (function.isIntrinsic())
      function.setAttributes(llvm::Intrinsic::getAttributes(module.getContext(), function.getIntrinsicID()));
    else
      function.setAttributes(function.getAttributes().removeFnAttributes(module.getContext()));
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      instruction.dropUnknownNonDebugMetadata();
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        call->setAttributes(call->getAttributes().removeFnAttributes(module.getContext()));
    }
}

/// Throws where a function that `function` reaches calls itself.
void refuse_recursion(const llvm::Function& hook, const llvm::Function& function,
                      std::set<const llvm::Function*>& open, std::set<const llvm::Function*>& done) {
  if (done.contains(&function)) return;
  if (open.size() == kDeepestCalls)
    throw Refusal{
        fmt::format("{}: calls nest more than {} deep, at {}", shown(hook), kDeepestCalls, shown(function)),
        "write what the functions compute in fewer of them"};
  open.insert(&function);
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr || callee->isDeclaration()) continue;
    if (open.contains(callee))
      throw Refusal{fmt::format("{}: {} calls {} again, which is not finished", shown(hook),
                                quote(instruction), shown(*callee)),
                    "write the recursion as a loop with a constant bound"};
    refuse_recursion(hook, *callee, open, done);
  }
  open.erase(&function);
  done.insert(&function);
}

void inline_calls(llvm::Function& hook) {
  const auto next = [&]() -> llvm::CallBase* {
    for (llvm::Instruction& instruction : llvm::instructions(hook)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && !callee->isDeclaration()) return call;
    }
    return nullptr;
  };
  while (llvm::CallBase* call = next()) {
    const std::string text = quote(*call);
    llvm::InlineFunctionInfo info;
    const llvm::InlineResult result = llvm::InlineFunction(*call, info);
    if (!result.isSuccess())
      throw Refusal{fmt::format("{}: {} cannot be inlined: {}", shown(hook), text, result.getFailureReason()),
                    "write what it computes in the hook itself"};
    refuse_size(hook);
  }
}

/// By LLVM's rules an index past a vector's end makes poison; but its Scalarizer reads past an array there.
void refuse_missing_elements(const llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!llvm::isa<llvm::ExtractElementInst, llvm::InsertElementInst>(instruction)) continue;
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getOperand(0)->getType());
    const unsigned last = instruction.getNumOperands() - 1;
    const auto* index = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(last));
    if (vector == nullptr || index == nullptr || index->getValue().ult(vector->getNumElements())) continue;
    throw Refusal{fmt::format("{}: {} asks for an element past the {} of its vector", shown(function),
                              quote(instruction), vector->getNumElements()),
                  fmt::format("use an index below {}", vector->getNumElements())};
  }
}

class Normaliser {
 public:
  explicit Normaliser(llvm::Function& hook) : hook_(hook) {
    analyses_.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    analyses_.registerPass([] { return llvm::TargetLibraryAnalysis(); });
    analyses_.registerPass([] { return llvm::TargetIRAnalysis(); });
    analyses_.registerPass([] { return llvm::AssumptionAnalysis(); });
    analyses_.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    analyses_.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
    analyses_.registerPass([] { return llvm::LoopAnalysis(); });
    analyses_.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
    analyses_.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
    analyses_.registerPass([] { return llvm::AAManager(); });
  }

  void scalarise() {
    refuse_missing_elements(hook_);
    llvm::ScalarizerPassOptions apart;
    apart.ScalarizeLoadStore = true;
    pass(llvm::ExpandReductionsPass());
    pass(llvm::ScalarizerPass(apart));
  }

  void run() {
    scalarise();
    clean();
    refuse_wide_blocks(hook_);
    while (unroll_one()) {
      clean();
      refuse_size(hook_);
      refuse_wide_blocks(hook_);
    }
    refuse_other_cycles();
    while (drop_unreachable()) {
    }
    pass(llvm::UnifyFunctionExitNodesPass());
  }

 private:
  template <class Pass>
  void pass(Pass pass) {
    analyses_.invalidate(hook_, pass.run(hook_, analyses_));
  }

  void clean() {
    for (int round = 0; round < 2; ++round) {
      pass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
      pass(llvm::EarlyCSEPass());
      pass(llvm::SimplifyCFGPass());
      pass(llvm::ADCEPass());
    }
  }

  /// Every loop in the form that unrolling wants: one way in, tested at the end.
  void shape_loops() {
    for (bool changed = true; changed;) {
      changed = false;
      analyses_.invalidate(hook_, llvm::PreservedAnalyses::none());
      auto& loops = analyses_.getResult<llvm::LoopAnalysis>(hook_);
      auto& dominators = analyses_.getResult<llvm::DominatorTreeAnalysis>(hook_);
      auto& assumptions = analyses_.getResult<llvm::AssumptionAnalysis>(hook_);
      for (llvm::Loop* loop : loops) {
        changed |= llvm::simplifyLoop(loop, &dominators, &loops, nullptr, &assumptions, nullptr, false);
        changed |= llvm::formLCSSARecursively(*loop, dominators, &loops, nullptr);
      }
      for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
        if (loop->isRotatedForm()) continue;
        const llvm::SimplifyQuery query(hook_.getDataLayout());
        const bool rotated = llvm::LoopRotation(
            loop, &loops, &analyses_.getResult<llvm::TargetIRAnalysis>(hook_), &assumptions, &dominators,
            nullptr, nullptr, query, /*RotationOnly=*/true, /*Threshold=*/~0u, /*IsUtilMode=*/true);
        if (!rotated) continue;
        changed = true;
        break;
      }
    }
  }

  /// Unrolls one loop whose iterations are bounded, innermost first; false where there is no loop left.
  bool unroll_one() {
    if (analyses_.getResult<llvm::LoopAnalysis>(hook_).empty()) return false;
    shape_loops();
    auto& loops = analyses_.getResult<llvm::LoopAnalysis>(hook_);
    auto& evolution = analyses_.getResult<llvm::ScalarEvolutionAnalysis>(hook_);
    llvm::SmallVector<llvm::Loop*, 4> order = loops.getLoopsInPreorder();
    for (llvm::Loop* loop : llvm::reverse(order)) {
      const unsigned count = evolution.getSmallConstantMaxTripCount(loop);
      if (count == 0 || count > kLongestLoop) continue;
      std::size_t size = 0;
      for (const llvm::BasicBlock* block : loop->blocks()) size += block->size();
      if (size * count > kMostInstructions)
        throw Refusal{fmt::format("{}: the loop at {} takes {} iterations of {} instructions; at most {} "
                                  "instructions are taken",
                                  shown(hook_), place(*loop), count, size, kMostInstructions),
                      "lower the loop's constant bound"};
      llvm::UnrollLoopOptions options{};
      options.Count = count;
      options.Force = true;
      options.ForgetAllSCEV = true;
      const llvm::LoopUnrollResult result = llvm::UnrollLoop(
          loop, options, &loops, &evolution, &analyses_.getResult<llvm::DominatorTreeAnalysis>(hook_),
          &analyses_.getResult<llvm::AssumptionAnalysis>(hook_),
          &analyses_.getResult<llvm::TargetIRAnalysis>(hook_),
          &analyses_.getResult<llvm::OptimizationRemarkEmitterAnalysis>(hook_), /*PreserveLCSSA=*/true);
      if (result != llvm::LoopUnrollResult::FullyUnrolled) continue;
      analyses_.invalidate(hook_, llvm::PreservedAnalyses::none());
      return true;
    }
    throw Refusal{fmt::format("{}: the loop at {} has no constant bound on its iterations", shown(hook_),
                              place(*order.back())),
                  fmt::format("count to a constant of at most {} and leave early: "
                              "`for (int i = 0; i < 64; ++i) {{ if (i >= n) break; ... }}`",
                              kLongestLoop)};
  }

  /// Removes one path that ends in `unreachable`: the file promises that it is never taken. Returns false
  /// where none is left. A path with a call stays, since the call may end the program.
  bool drop_unreachable() {
    for (llvm::BasicBlock& block : hook_) {
      const bool is_bare =
          llvm::isa<llvm::UnreachableInst>(block.front()) && &block != &hook_.getEntryBlock();
      if (!is_bare || llvm::pred_empty(&block)) continue;
      for (llvm::BasicBlock* before : llvm::make_early_inc_range(llvm::predecessors(&block))) {
        llvm::Instruction* last = before->getTerminator();
        if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(last)) {
          drop_edge(*choice, block);
          break;
        }
        auto* branch = llvm::dyn_cast<llvm::BranchInst>(last);
        if (branch == nullptr) continue;
        if (branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1))
          llvm::BranchInst::Create(branch->getSuccessor(branch->getSuccessor(0) == &block ? 1 : 0),
                                   branch->getIterator());
        else
          new llvm::UnreachableInst(hook_.getContext(), branch->getIterator());
        branch->eraseFromParent();
        break;
      }
      if (llvm::pred_empty(&block)) block.eraseFromParent();
      analyses_.invalidate(hook_, llvm::PreservedAnalyses::none());
      return true;
    }
    return false;
  }

  /// Removes one edge of a switch; where it is the default, the last case takes its place.
  static void drop_edge(llvm::SwitchInst& choice, const llvm::BasicBlock& block) {
    for (auto option = choice.case_begin(); option != choice.case_end(); ++option)
      if (option->getCaseSuccessor() == &block) {
        choice.removeCase(option);
        return;
      }
    if (choice.getNumCases() == 0) {
      new llvm::UnreachableInst(choice.getContext(), choice.getIterator());
      choice.eraseFromParent();
      return;
    }
    const auto last = std::prev(choice.case_end());
    choice.setDefaultDest(last->getCaseSuccessor());
    choice.removeCase(last);
  }

  static std::string place(const llvm::Loop& loop) { return quote(*loop.getHeader()->getTerminator()); }

  /// A cycle that can be entered in two places, which LLVM does not call a loop.
  void refuse_other_cycles() {
    std::unordered_map<const llvm::BasicBlock*, int> order;
    int next = 0;
    llvm::ReversePostOrderTraversal<llvm::Function*> blocks(&hook_);
    for (const llvm::BasicBlock* block : blocks) order[block] = next++;
    for (const llvm::BasicBlock* block : blocks)
      for (const llvm::BasicBlock* successor : llvm::successors(block))
        if (order[successor] <= order[block])
          throw Refusal{fmt::format("{}: {} closes a loop that has two entries", shown(hook_),
                                    quote(*block->getTerminator())),
                        "write the loop without goto"};
  }

  llvm::Function& hook_;
  llvm::FunctionAnalysisManager analyses_;
};

}  // namespace

void scalarise(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) Normaliser(function).scalarise();
}

void normalise(llvm::Function& hook) {
  std::set<const llvm::Function*> open, done;
  refuse_recursion(hook, hook, open, done);
  refuse_size(hook);
  drop_attributes(*hook.getParent());
  inline_calls(hook);
  Normaliser(hook).run();
  verify(hook, "normalise");
}

}  // namespace fa
