// A value is one of: uniform (the same for every q_idx and kv_idx), relative (a function of q_idx - kv_idx),
// or linear (q * q_idx + kv * kv_idx + something relative or uniform). Where linear parts cancel to a
// multiple of q_idx - kv_idx, a relative value comes out; anything else of a linear value is not known.
#include "compiler/analysis/relative.h"

#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "compiler/analysis/tiles/match.h"

namespace fa {
namespace {

struct Form {
  long long q = 0, kv = 0;  // the linear part; both 0: relative or uniform
  bool is_relative = false;
  bool is_exact = true;  // the linear part did not wrap around

  bool is_linear() const { return q != 0 || kv != 0; }
  bool is_uniform() const { return !is_linear() && !is_relative; }
};

using MaybeForm = std::optional<Form>;

class Forms {
 public:
  explicit Forms(const llvm::Function& function) {
    for (const llvm::Argument& argument : function.args()) {
      Form form;
      if (argument.getName() == "q_idx") form.q = 1;
      if (argument.getName() == "kv_idx") form.kv = 1;
      forms_[&argument] = form;
    }
    for (const llvm::Instruction& instruction : function.getEntryBlock())
      forms_[&instruction] = find(instruction);
  }

  MaybeForm of(const llvm::Value& value) const {
    if (llvm::isa<llvm::Constant>(value)) return Form{};
    const auto found = forms_.find(&value);
    return found == forms_.end() ? MaybeForm() : found->second;
  }

 private:
  MaybeForm find(const llvm::Instruction& instruction) const {
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub:
      case llvm::Instruction::FSub:
        return sum(instruction);
      case llvm::Instruction::Mul:
        return product(instruction);
      case llvm::Instruction::SIToFP:
      case llvm::Instruction::SExt:
        return image(instruction);
      case llvm::Instruction::ICmp:
        return comparison(llvm::cast<llvm::ICmpInst>(instruction));
      default:
        return of_operands(instruction);
    }
  }

  /// What has no linear operand is as relative as they are.
  MaybeForm of_operands(const llvm::Instruction& instruction) const {
    Form form;
    for (const llvm::Value* operand : instruction.operand_values()) {
      if (llvm::isa<llvm::Function>(operand)) continue;
      const MaybeForm part = of(*operand);
      if (!part || part->is_linear()) return {};
      form.is_relative |= part->is_relative;
    }
    return form;
  }

  MaybeForm sum(const llvm::Instruction& instruction) const {
    const MaybeForm a = of(*instruction.getOperand(0));
    const MaybeForm b = of(*instruction.getOperand(1));
    if (!a || !b) return {};
    // Rounding keeps no linear part, unless nothing is left of it: both sides are exact images of integers.
    const bool is_float = instruction.getType()->isFloatingPointTy();
    if (is_float && !a->is_linear() && !b->is_linear()) return of_operands(instruction);
    Form form = difference(*a, *b, instruction.getOpcode() == llvm::Instruction::Add ? -1 : 1);
    if (is_float && form.is_linear()) return {};
    if (!is_float && form.is_linear()) form.is_exact &= instruction.hasNoSignedWrap();
    return bounded(form);
  }

  MaybeForm product(const llvm::Instruction& instruction) const {
    const MaybeForm a = of(*instruction.getOperand(0));
    const auto* factor = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
    if (!a || !a->is_linear() || factor == nullptr || factor->getValue().abs().ugt(1 << 20))
      return of_operands(instruction);
    Form form = *a;
    form.q *= factor->getSExtValue();
    form.kv *= factor->getSExtValue();
    form.is_exact &= instruction.hasNoSignedWrap();
    return bounded(form);
  }

  /// Nothing where a coefficient is so large that more sums and products could overflow it: chains of sums double it each time.
  static MaybeForm bounded(const Form& form) {
    constexpr long long kMost = 1LL << 40;  // a factor is at most 2^20
    return std::abs(form.q) <= kMost && std::abs(form.kv) <= kMost ? MaybeForm(form) : MaybeForm();
  }

  /// Exact as an integer, exact as a float: lengths are at most 2^24, and what is added to them is checked.
  MaybeForm image(const llvm::Instruction& instruction) const {
    const llvm::Value& from = *instruction.getOperand(0);
    const MaybeForm form = of(from);
    if (!form || !form->is_linear()) return of_operands(instruction);
    const bool is_float = instruction.getType()->isFloatingPointTy();
    return form->is_exact && (!is_float || is_position(from)) ? form : MaybeForm();
  }

  MaybeForm comparison(const llvm::ICmpInst& compare) const {
    const MaybeForm a = of(*compare.getOperand(0));
    const MaybeForm b = of(*compare.getOperand(1));
    if (!a || !b) return compare.isEquality() ? same_remainder(compare) : MaybeForm();
    if (!a->is_linear() && !b->is_linear()) return of_operands(compare);
    const Form form = difference(*a, *b, 1);
    if (form.is_linear() || (!compare.isEquality() && (!form.is_exact || compare.isUnsigned()))) return {};
    return form;
  }

  /// a % m == b % m, rounding down, holds where m divides a - b.
  MaybeForm same_remainder(const llvm::ICmpInst& compare) const {
    const auto a = match_remainder(compare.getOperand(0));
    const auto b = match_remainder(compare.getOperand(1));
    if (!a || !b || a->divisor != b->divisor || a->form != b->form) return {};
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(a->divisor);
    const bool is_positive = constant != nullptr && constant->getValue().isStrictlyPositive();
    if (a->form != Remainder::Form::floor && !(a->form == Remainder::Form::floor_positive && is_positive))
      return {};
    const MaybeForm left = of(*a->dividend), right = of(*b->dividend), divisor = of(*a->divisor);
    if (!left || !right || !divisor || !divisor->is_uniform()) return {};
    const Form form = difference(*left, *right, 1);
    return form.is_linear() || !form.is_exact ? MaybeForm() : form;
  }

  /// a - sign * b.
  static Form difference(const Form& a, const Form& b, long long sign) {
    Form form{.q = a.q - sign * b.q,
              .kv = a.kv - sign * b.kv,
              .is_relative = a.is_relative || b.is_relative,
              .is_exact = a.is_exact && b.is_exact};
    if (form.is_linear() && form.q == -form.kv) form = {.is_relative = true, .is_exact = form.is_exact};
    return form;
  }

  /// An index, or a position: an index shifted by the difference of the lengths.
  static bool is_position(const llvm::Value& value) {
    if (llvm::isa<llvm::Argument>(value)) return true;
    const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(&value);
    if (sum == nullptr || sum->getOpcode() != llvm::Instruction::Add) return false;
    const auto is_shift = [](const llvm::Value* shift) {
      const auto* lengths = llvm::dyn_cast<llvm::BinaryOperator>(shift);
      return lengths != nullptr && lengths->getOpcode() == llvm::Instruction::Sub &&
             lengths->getOperand(0)->getName() == "kv_len" && lengths->getOperand(1)->getName() == "q_len";
    };
    const llvm::Value* a = sum->getOperand(0);
    const llvm::Value* b = sum->getOperand(1);
    return (llvm::isa<llvm::Argument>(a) && is_shift(b)) || (llvm::isa<llvm::Argument>(b) && is_shift(a));
  }

  std::unordered_map<const llvm::Value*, MaybeForm> forms_;
};

}  // namespace

bool is_relative(const llvm::Function& function) {
  if (function.size() != 1) return false;  // a loop
  const auto* end = llvm::cast<llvm::ReturnInst>(function.getEntryBlock().getTerminator());
  const MaybeForm form = Forms(function).of(*end->getReturnValue());
  return form && !form->is_linear() && form->is_relative;
}

}  // namespace fa
