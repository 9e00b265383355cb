// Where a factor costs least. The cost of `value * factor` counts the element's operations first, then those
// of a row or column, then those of a head: a factor moves through products to the operand that depends on
// least, and through sums, minima and choices where all their parts can take it for less than one
// multiplication of the whole.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>

#include "compiler/analysis/affine.h"
#include "compiler/ir/math/constants.h"

namespace fa {
namespace {

constexpr int kDeepest = 12;  // of the search, so that shared parts cannot make it exponential

bool is_log2e(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
  return constant != nullptr && constant->isExactlyValue(static_cast<double>(kLog2eF32));
}

llvm::Intrinsic::ID intrinsic_of(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call != nullptr ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
}

// Whether the value is a whole number by construction. Sums of these are exact, and scaling their parts would
// not be.
bool is_whole(const llvm::Value* value, int depth = 0) {
  if (depth > kDeepest) return false;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value))
    return constant->getValueAPF().isInteger();
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return false;
  if (llvm::isa<llvm::SIToFPInst>(instruction) || llvm::isa<llvm::UIToFPInst>(instruction)) return true;
  const auto whole = [&](unsigned i) { return is_whole(instruction->getOperand(i), depth + 1); };
  switch (instruction->getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
      return whole(0) && whole(1);
    case llvm::Instruction::FNeg:
      return whole(0);
    case llvm::Instruction::Select:
      return whole(1) && whole(2);
    default:
      break;
  }
  switch (intrinsic_of(value)) {
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::roundeven:
      return true;
    case llvm::Intrinsic::fabs:
      return whole(0);
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
      return whole(0) && whole(1);
    default:
      return false;
  }
}

double multiplication_cost(Stage stage) {
  switch (stage) {
    case Stage::head:
      return 0.001;
    case Stage::row:
    case Stage::column:
      return 0.01;
    case Stage::element:
      break;
  }
  return 1;
}

// Through which operands a factor may move into `value`; empty: not at all. For a product, the cheapest one.
struct Way {
  double cost = 0;
  std::vector<unsigned> operands{};
  bool becomes_log2 = false;
};

Way cheapest_way(const llvm::Value* value, const llvm::Value* factor, Dependence& dependence, int depth) {
  if (llvm::isa<llvm::Constant>(value))
    return {.cost = llvm::isa<llvm::Constant>(factor) ? 0 : multiplication_cost(dependence.stage(*factor))};
  const Way whole = {.cost = multiplication_cost(dependence.stage(*value))};
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth > kDeepest) return whole;
  const auto operand_cost = [&](unsigned i) {
    return cheapest_way(instruction->getOperand(i), factor, dependence, depth + 1).cost;
  };
  // A value used elsewhere too stays, so that its scaled twin is extra work.
  const double twin = instruction->hasOneUse() ? 0 : whole.cost;
  Way inside;
  switch (instruction->getOpcode()) {
    case llvm::Instruction::FMul:
      inside.operands = {operand_cost(1) <= operand_cost(0) ? 1u : 0u};
      break;
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FNeg:
      inside.operands = {0};
      break;
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
      if (is_whole(value)) return whole;
      inside.operands = {0, 1};
      break;
    case llvm::Instruction::Select:
      inside.operands = {1, 2};
      break;
    case llvm::Instruction::Call:
      switch (intrinsic_of(value)) {
        case llvm::Intrinsic::log:
          if (!is_log2e(factor)) return whole;
          inside.becomes_log2 = true;
          return inside;
        case llvm::Intrinsic::fabs:
          inside.operands = {0};
          break;
        case llvm::Intrinsic::minnum:
        case llvm::Intrinsic::maxnum:
          inside.operands = {0, 1};
          break;
        default:
          return whole;
      }
      break;
    default:
      return whole;
  }
  inside.cost = twin;
  for (unsigned i : inside.operands) inside.cost += operand_cost(i);
  return inside.cost < whole.cost ? inside : whole;
}

}  // namespace

llvm::Value* times(llvm::Value* value, llvm::Value* factor, Dependence& dependence,
                   llvm::IRBuilderBase& builder) {
  if (is_one(value)) return factor;
  if (is_zero(value) || is_one(factor)) return value;
  const Way way = cheapest_way(value, factor, dependence, 0);
  if (way.becomes_log2)
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::log2,
                                        llvm::cast<llvm::Instruction>(value)->getOperand(0));
  if (way.operands.empty()) return builder.CreateFMul(value, factor);

  std::vector<llvm::Value*> scaled;
  auto* original = llvm::cast<llvm::Instruction>(value);
  for (unsigned i : way.operands)
    scaled.push_back(times(original->getOperand(i), factor, dependence, builder));
  llvm::Instruction* copy = original->clone();
  for (std::size_t i = 0; i < scaled.size(); ++i) copy->setOperand(way.operands[i], scaled[i]);
  builder.Insert(copy, original->getName());
  return copy;
}

void multiply_by_reciprocals(llvm::Function& function, Dependence& dependence) {
  llvm::IRBuilder<> builder(function.getContext());
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : block) {
      if (instruction.getOpcode() != llvm::Instruction::FDiv || !instruction.hasAllowContract()) continue;
      llvm::Value* divisor = instruction.getOperand(1);
      const bool is_earlier = dependence.stage(*divisor) < dependence.stage(instruction);
      if (!is_earlier && !llvm::isa<llvm::Constant>(divisor)) continue;
      if (llvm::isa<llvm::Constant>(instruction.getOperand(0))) continue;
      builder.SetInsertPoint(&instruction);
      builder.setFastMathFlags(instruction.getFastMathFlags());
      llvm::Value* one = llvm::ConstantFP::get(builder.getFloatTy(), 1.0);
      llvm::Value* reciprocal = builder.CreateFDiv(one, divisor, "reciprocal");
      instruction.replaceAllUsesWith(builder.CreateFMul(instruction.getOperand(0), reciprocal, "quotient"));
    }
}

void scale_uses(llvm::Function& function, llvm::Value* score, llvm::Value* scale, Dependence& dependence) {
  std::vector<llvm::Use*> uses;
  for (llvm::Use& use : score->uses()) uses.push_back(&use);
  llvm::Value* scaled = nullptr;  // scale * score, made when a use needs it
  llvm::IRBuilder<> builder(function.getContext());
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder.setFastMathFlags(flags);
  for (llvm::Use* use : uses) {
    auto* user = llvm::cast<llvm::Instruction>(use->getUser());
    const unsigned other_at = 1 - std::min(use->getOperandNo(), 1u);
    const bool is_product =
        user->getOpcode() == llvm::Instruction::FMul && user->getOperand(other_at) != score;
    if (is_product && dependence.stage(*user->getOperand(other_at)) != Stage::element) {
      builder.SetInsertPoint(user);
      llvm::Value* factor = times(user->getOperand(other_at), scale, dependence, builder);
      user->replaceAllUsesWith(builder.CreateFMul(score, factor, user->getName()));
      continue;
    }
    if (scaled == nullptr) {
      builder.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
      scaled = builder.CreateFMul(score, scale, "scaled_score");
    }
    use->set(scaled);
  }
}

}  // namespace fa
