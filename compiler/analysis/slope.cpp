// The slope is found from the result down, as one finds a derivative, and built at the copy's end from the
// parts that are free of kv_idx. Rounding is no part of it: a sum of two products differs from the spec's
// text by a few ulp, as any reordering of them would.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/cloning.h"
// after llvm.h
#include <optional>
#include <unordered_map>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/slope.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

/// constant * factor, a factor of nullptr being 1.
struct Slope {
  double constant = 0;
  llvm::Value* factor = nullptr;
};

using MaybeSlope = std::optional<Slope>;

class Slopes {
 public:
  Slopes(llvm::Function& function)
      : builder_(function.getEntryBlock().getTerminator()), dependence_(function) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    builder_.setFastMathFlags(flags);
  }

  MaybeSlope of(llvm::Value& value) {
    if (const auto found = known_.find(&value); found != known_.end()) return found->second;
    const MaybeSlope slope = find(value);
    known_[&value] = slope;
    return slope;
  }

  llvm::Value* value(const Slope& slope) {
    llvm::Value* constant = llvm::ConstantFP::get(builder_.getFloatTy(), slope.constant);
    if (slope.factor == nullptr) return constant;
    if (slope.constant == 1) return slope.factor;
    return slope.constant == -1 ? builder_.CreateFNeg(slope.factor)
                                : builder_.CreateFMul(slope.factor, constant);
  }

  /// Whether it is the same for every q_idx and kv_idx.
  bool is_uniform(llvm::Value& value) {
    const DependsOn depends = dependence_.of(value);
    return !depends.has(DependsOn::q) && !depends.has(DependsOn::kv);
  }

 private:
  bool is_free(llvm::Value& value) { return !dependence_.of(value).has(DependsOn::kv); }

  MaybeSlope find(llvm::Value& value) {
    if (is_free(value)) return Slope{};
    if (llvm::isa<llvm::Argument>(value)) return Slope{.constant = 1};  // kv_idx
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    return instruction == nullptr ? MaybeSlope() : of_instruction(*instruction);
  }

  MaybeSlope of_instruction(llvm::Instruction& instruction) {
    const auto operand = [&](unsigned i) -> llvm::Value& { return *instruction.getOperand(i); };
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub:
        if (!instruction.hasNoSignedWrap()) return {};
        [[fallthrough]];
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub: {
        const unsigned opcode = instruction.getOpcode();
        const bool adds = opcode == llvm::Instruction::Add || opcode == llvm::Instruction::FAdd;
        return sum(of(operand(0)), of(operand(1)), adds ? 1 : -1);
      }
      case llvm::Instruction::Mul: {
        const unsigned at = llvm::isa<llvm::ConstantInt>(operand(0)) ? 0 : 1;
        const auto* factor = llvm::dyn_cast<llvm::ConstantInt>(&operand(at));
        if (factor == nullptr || !instruction.hasNoSignedWrap()) return {};
        return times(of(operand(1 - at)), static_cast<double>(factor->getSExtValue()));
      }
      case llvm::Instruction::SIToFP:
        return of(operand(0));
      case llvm::Instruction::FNeg:
        return times(of(operand(0)), -1);
      case llvm::Instruction::FMul: {
        const unsigned factor = is_free(operand(1)) ? 1 : 0;
        return is_free(operand(factor)) ? times(of(operand(1 - factor)), operand(factor)) : MaybeSlope();
      }
      default:
        return {};
    }
  }

  MaybeSlope sum(const MaybeSlope& a, const MaybeSlope& b, double sign) {
    if (!a || !b) return {};
    if (b->constant == 0) return a;
    if (a->constant == 0) return times(b, sign);
    if (a->factor == b->factor) return Slope{a->constant + sign * b->constant, a->factor};
    return Slope{1, builder_.CreateFAdd(value(*a), value(*times(b, sign)))};
  }

  static MaybeSlope times(MaybeSlope slope, double constant) {
    if (slope) slope->constant *= constant;
    return slope;
  }

  MaybeSlope times(MaybeSlope slope, llvm::Value& factor) {
    if (!slope) return {};
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(&factor))
      return times(slope, constant->getValueAPF().convertToDouble());
    slope->factor = slope->factor == nullptr ? &factor : builder_.CreateFMul(slope->factor, &factor);
    return slope;
  }

  llvm::IRBuilder<> builder_;
  Dependence dependence_;
  std::unordered_map<llvm::Value*, MaybeSlope> known_;  // a shared part is looked at once
};

}  // namespace

llvm::Function* derive_slope(llvm::Function& addend) {
  if (addend.size() != 1) return nullptr;  // a loop
  llvm::ValueToValueMapTy map;
  llvm::Function* function = llvm::CloneFunction(&addend, map);
  function->setName("logit_addend_slope");
  auto* end = llvm::cast<llvm::ReturnInst>(function->getEntryBlock().getTerminator());
  Slopes slopes(*function);
  const MaybeSlope slope = slopes.of(*end->getReturnValue());
  llvm::Value* value = slope && slope->constant != 0 ? slopes.value(*slope) : nullptr;
  if (value == nullptr || !slopes.is_uniform(*value)) {
    function->eraseFromParent();
    return nullptr;
  }
  end->setOperand(0, value);
  verify(*function, "derive_slope");
  simplify(*function);
  return function;
}

}  // namespace fa
