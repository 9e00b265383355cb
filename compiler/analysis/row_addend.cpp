// Terms are found from the result down, through sums and differences that may be reordered.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/cloning.h"
// after llvm.h
#include "compiler/analysis/affine.h"
#include "compiler/analysis/dependence.h"
#include "compiler/analysis/row_addend.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

constexpr std::size_t kMostTerms = 32;  // a sum of shared sums can be exponentially long

struct Term {
  llvm::Value* value = nullptr;
  double factor = 1;
};

/// Terms of `value` that stand in `block`, the function's last; what a loop before it made is one term.
void find_terms(const llvm::BasicBlock& block, llvm::Value* value, double factor, std::vector<Term>& terms) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  const bool may_move = instruction != nullptr && llvm::isa<llvm::FPMathOperator>(instruction) &&
                        instruction->hasAllowContract() && instruction->getParent() == &block &&
                        terms.size() < kMostTerms;
  const auto operand = [&](unsigned i) { return instruction->getOperand(i); };
  switch (may_move ? instruction->getOpcode() : 0) {
    case llvm::Instruction::FNeg:
      return find_terms(block, operand(0), -factor, terms);
    case llvm::Instruction::FAdd:
      find_terms(block, operand(0), factor, terms);
      return find_terms(block, operand(1), factor, terms);
    case llvm::Instruction::FSub:
      find_terms(block, operand(0), factor, terms);
      return find_terms(block, operand(1), -factor, terms);
    case llvm::Instruction::FMul:
      for (const unsigned i : {0u, 1u})
        if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(operand(i)))
          return find_terms(block, operand(1 - i), factor * constant->getValueAPF().convertToDouble(), terms);
      break;
    default:
      break;
  }
  terms.push_back({value, factor});
}

llvm::ReturnInst* end_of(llvm::Function& function) {
  return llvm::cast<llvm::ReturnInst>(function.back().getTerminator());
}

/// Makes the function return the sum of those of its result's terms that do, or do not, depend on kv_idx.
void keep_terms(llvm::Function& function, bool of_columns) {
  llvm::ReturnInst* const end = end_of(function);
  Dependence dependence(function);
  std::vector<Term> terms;
  find_terms(*end->getParent(), end->getReturnValue(), 1, terms);
  llvm::IRBuilder<> builder(end);
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder.setFastMathFlags(flags);
  const auto number = [&](double value) { return llvm::ConstantFP::get(builder.getFloatTy(), value); };
  llvm::Value* sum = number(0);
  for (const Term& term : terms) {
    if (dependence.of(*term.value).has(DependsOn::kv) != of_columns) continue;
    const bool subtracts = term.factor < 0 && !is_zero(sum);
    const double factor = subtracts ? -term.factor : term.factor;
    llvm::Value* value = factor == 1 ? term.value : builder.CreateFMul(term.value, number(factor));
    sum = is_zero(sum) ? value : subtracts ? builder.CreateFSub(sum, value) : builder.CreateFAdd(sum, value);
  }
  end->setOperand(0, sum);
  verify(function, "split_row_addend");
  simplify(function);
}

}  // namespace

llvm::Function* split_row_addend(llvm::Function& addend) {
  llvm::ValueToValueMapTy map;
  llvm::Function* rows = llvm::CloneFunction(&addend, map);
  rows->setName("logit_row_addend");
  keep_terms(*rows, false);
  if (is_zero(end_of(*rows)->getReturnValue())) {
    rows->eraseFromParent();
    return nullptr;
  }
  keep_terms(addend, true);
  return rows;
}

}  // namespace fa
