// Turns branches into choices. The hook has no effects and no loops left, so every path may be evaluated, and
// a phi becomes a `where` over the conditions that lead to it. Conditions start from the nearest block that
// all paths share, so that `a && b && c` becomes what was written.
#include "compiler/ir/llvm/flow.h"
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>

#include "compiler/ir/import/translate.h"

namespace fa {

/// The condition under which `from` goes on to `to`.
ExprPtr Translator::taken(const llvm::BasicBlock* from, const llvm::BasicBlock* to) {
  const llvm::Instruction* last = from->getTerminator();
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(last)) {
    if (branch->isUnconditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
      return build_.boolean(true);
    const ExprPtr condition = value(branch->getCondition());
    return branch->getSuccessor(0) == to ? condition : build_.not_(condition);
  }
  const auto* choice = llvm::cast<llvm::SwitchInst>(last);
  const bool is_default = choice->getDefaultDest() == to;
  const ExprPtr subject = value(choice->getCondition());
  ExprPtr any = build_.boolean(false);
  for (const auto& option : choice->cases()) {
    const bool leads_here = option.getCaseSuccessor() == to;
    if (leads_here == is_default) continue;  // of the default, those that lead elsewhere
    any = build_.or_(any, build_.binary(Op::eq, subject, value(option.getCaseValue())));
  }
  return is_default ? build_.not_(any) : any;
}

/// The condition under which a path through `from`, which dominates `to`, passes through `to`.
ExprPtr Translator::reached(const llvm::BasicBlock* from, const llvm::BasicBlock* to) {
  if (from == to || post_dominators_->dominates(to, from)) return build_.boolean(true);
  if (const auto found = reached_.find({from, to}); found != reached_.end()) return found->second;
  const llvm::BasicBlock* above = dominators_->getNode(to)->getIDom()->getBlock();
  ExprPtr result = build_.boolean(false);
  if (above != from) {
    result = build_.and_(reached(from, above), reached(above, to));
  } else {
    // A switch may have several edges from one block to another: together they are one condition.
    llvm::SmallPtrSet<const llvm::BasicBlock*, 8> seen;
    for (const llvm::BasicBlock* before : llvm::predecessors(to))
      if (seen.insert(before).second)
        result = build_.or_(result, build_.and_(reached(from, before), taken(before, to)));
  }
  return reached_[{from, to}] = result;
}

ExprPtr Translator::merge(const llvm::PHINode& phi, const OfIncoming& of) {
  const llvm::BasicBlock* block = phi.getParent();
  const llvm::DomTreeNode* above = dominators_->getNode(block)->getIDom();
  struct Arm {
    const llvm::Value* incoming;
    ExprPtr condition;
    int blocks = 0;
  };
  std::vector<Arm> arms;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 8> seen;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    const llvm::Value* incoming = phi.getIncomingValue(i);
    const llvm::BasicBlock* before = phi.getIncomingBlock(i);
    if (is_undefined(incoming) || !seen.insert(before).second)
      continue;  // undefined: any arm's value will do
    const ExprPtr condition = build_.and_(reached(above->getBlock(), before), taken(before, block));
    const auto same =
        std::find_if(arms.begin(), arms.end(), [&](const Arm& arm) { return arm.incoming == incoming; });
    if (same == arms.end())
      arms.push_back({incoming, condition, 1});
    else
      same->condition = build_.or_(same->condition, condition), ++same->blocks;
  }
  if (arms.empty()) refuse(phi, "is an undefined value", "give every variable a value before it is used");
  // The last arm needs no condition. It is the one with the longest condition, or a constant, so that the
  // choice reads `a and b`.
  std::stable_sort(arms.begin(), arms.end(), [](const Arm& x, const Arm& y) {
    const bool x_is_constant = llvm::isa<llvm::Constant>(x.incoming);
    const bool y_is_constant = llvm::isa<llvm::Constant>(y.incoming);
    if (x_is_constant != y_is_constant) return y_is_constant;
    return x.blocks < y.blocks;
  });
  ExprPtr result = of(arms.back().incoming);
  for (std::size_t i = arms.size() - 1; i-- > 0;)
    result = build_.where(arms[i].condition, of(arms[i].incoming), result);
  return result;
}

ExprPtr Translator::select(const llvm::SelectInst& select, const OfIncoming& of) {
  const llvm::Value* a = select.getTrueValue();
  const llvm::Value* b = select.getFalseValue();
  if (is_undefined(a)) return of(b);
  if (is_undefined(b)) return of(a);
  return build_.where(value(select.getCondition()), of(a), of(b));
}

}  // namespace fa
