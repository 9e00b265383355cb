#include "compiler/analysis/mask_segments.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/analysis/dependence.h"
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/pattern_match.h"

namespace fa {
namespace {

class Conditions {
 public:
  explicit Conditions(const llvm::Function& mask) : dependence_(mask) {}

  /// Whether `condition` holds only where numbers of tables are equal. Each value is looked at once.
  bool demand_equal_numbers(const llvm::Value* condition) {
    using namespace llvm::PatternMatch;
    if (!seen_.insert(condition).second) return false;
    const llvm::Value *x = nullptr, *y = nullptr;
    if (match(condition, m_LogicalAnd(m_Value(x), m_Value(y))))
      return demand_equal_numbers(x) || demand_equal_numbers(y);
    const auto* compared = llvm::dyn_cast<llvm::ICmpInst>(condition);
    if (compared == nullptr || compared->getPredicate() != llvm::CmpInst::ICMP_EQ) return false;
    x = compared->getOperand(0);
    y = compared->getOperand(1);
    return (is_read_at(x, DependsOn::q) && is_read_at(y, DependsOn::kv)) ||
           (is_read_at(x, DependsOn::kv) && is_read_at(y, DependsOn::q));
  }

 private:
  /// Whether a table is read for it, at one of the two indices alone.
  bool is_read_at(const llvm::Value* value, unsigned index) {
    return dependence_.of(*value).sides() == index && reads(value);
  }

  /// Whether a table's number decides it, through arithmetic of a few steps.
  static bool reads(const llvm::Value* value, int steps = 8) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || steps == 0) return false;
    if (llvm::isa<llvm::LoadInst>(instruction)) return true;
    return instruction->getNumOperands() <= 3 &&
           std::ranges::any_of(instruction->operands(),
                               [&](const llvm::Use& operand) { return reads(operand.get(), steps - 1); });
  }

  const Dependence dependence_;
  std::unordered_set<const llvm::Value*> seen_;
};

}  // namespace

bool keeps_segments(const llvm::Function& mask_mod) {
  const auto* end = llvm::cast<llvm::ReturnInst>(mask_mod.back().getTerminator());
  return Conditions(mask_mod).demand_equal_numbers(end->getReturnValue());
}

}  // namespace fa
