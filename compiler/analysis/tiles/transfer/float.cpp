// What an f32 may be over a box: an interval of finite numbers, where that can be told.
//
// Additions, minima, conversions and the like round the same way here and in the kernel, and rounding keeps
// the order of numbers, so ends are ends. What is rounded otherwise elsewhere gets a margin: a product that
// may be fused with an addition, a quotient that may become a product (compiler/ir/decisions.h), and
// functions, of which none is sure to rise from each number to the next.
#include "compiler/analysis/tiles/transfer/transfer.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "compiler/ir/functions.h"
#include "compiler/ir/math/constants.h"

namespace fa {
namespace {

/// How far a target's result may be from another's: relative * |result| + absolute.
struct Margin {
  double relative = 0;
  double absolute = 0;
};

/// A function that never falls.
struct Rising {
  double (*evaluate)(double);
  Margin margin;
};

std::optional<Rising> rising_function(const llvm::CallInst& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::floor:
      return Rising{[](double x) { return std::floor(x); }, {}};
    case llvm::Intrinsic::ceil:
      return Rising{[](double x) { return std::ceil(x); }, {}};
    case llvm::Intrinsic::trunc:
      return Rising{[](double x) { return std::trunc(x); }, {}};
    case llvm::Intrinsic::roundeven:
      return Rising{[](double x) { return std::nearbyint(x); }, {}};
    case llvm::Intrinsic::log:
      return Rising{[](double x) { return std::log(x); }, {0x1p-18, 0x1p-18}};
    case llvm::Intrinsic::log2:
      return Rising{[](double x) { return std::log2(x); }, {0x1p-18, 0x1p-18}};
    case llvm::Intrinsic::exp:
      return Rising{[](double x) { return std::exp(x); }, {0x1p-14, 0x1p-100}};
    case llvm::Intrinsic::exp2:
      return Rising{[](double x) { return std::exp2(x); }, {0x1p-14, 0x1p-100}};
    case llvm::Intrinsic::sqrt:
      return Rising{[](double x) { return std::sqrt(x); }, {0x1p-20, 0x1p-60}};
    case llvm::Intrinsic::tanh:  // tanh.approx: 2^-11
      return Rising{[](double x) { return std::tanh(x); }, {0x1p-9, 0x1p-60}};
    default:
      break;
  }
  const llvm::Function* callee = call.getCalledFunction();
  const llvm::StringRef name = callee == nullptr ? "" : callee->getName();
  if (name == llvm::StringRef(kSigmoidName))
    return Rising{[](double x) { return 1 / (1 + std::exp(-x)); }, {0x1p-18, 0x1p-18}};
  if (name == llvm::StringRef(kErfName))
    return Rising{[](double x) { return std::erf(x); }, {0x1p-18, 0x1p-18}};
  if (name == llvm::StringRef(kAtanName))
    return Rising{[](double x) { return std::atan(x); }, {0x1p-18, 0x1p-60}};
  if (name == llvm::StringRef(kLog1pName))
    return Rising{[](double x) { return std::log1p(x); }, {0x1p-18, 0x1p-60}};
  if (name == llvm::StringRef(kExpm1Name))
    return Rising{[](double x) { return std::expm1(x); }, {0x1p-18, 0x1p-60}};
  return {};
}

bool is_power_of_two(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
  return constant != nullptr && constant->getValueAPF().getExactLog2Abs() != INT_MIN;
}

/// Whether a value is made without functions and divisions, so that code for it comes to the same number
/// wherever it stands.
bool is_rounded_alike(const llvm::Value& value, std::set<const llvm::Value*>& seen) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  if (instruction == nullptr || !seen.insert(&value).second) return true;
  const auto* call = llvm::dyn_cast<llvm::CallInst>(instruction);
  const llvm::Intrinsic::ID id = call == nullptr ? 0 : call->getIntrinsicID();
  const bool is_exact = id == llvm::Intrinsic::fabs || id == llvm::Intrinsic::floor ||
                        id == llvm::Intrinsic::minnum || id == llvm::Intrinsic::maxnum;
  if (value.getType()->isFloatTy() && call != nullptr && !is_exact) return false;
  if (instruction->getOpcode() == llvm::Instruction::FDiv) return false;
  return std::all_of(instruction->op_begin(), instruction->op_end(),
                     [&](const llvm::Use& operand) { return is_rounded_alike(*operand.get(), seen); });
}

}  // namespace

AbstractFloat Transfer::real(llvm::Value* value, const Domain& where) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value)) {
    const double number = constant->getValueAPF().convertToDouble();
    return {.lo = value,
            .hi = value,
            .known = where.builder().getInt1(std::isfinite(number)),
            .min = number,
            .max = number};
  }
  const auto key = std::make_tuple(static_cast<const llvm::Value*>(value), &where);
  if (const auto found = reals_.find(key); found != reals_.end()) return found->second;
  const Nested nested(depth_);
  if (is_too_long()) return {.lo = corner(value), .hi = corner(value), .known = where.builder().getFalse()};
  return reals_[key] = find_real(value, where);
}

AbstractFloat Transfer::find_real(llvm::Value* value, const Domain& where) {
  llvm::IRBuilder<>& builder = where.builder();
  if (depends(value).has(DependsOn::score)) {
    llvm::Value* const zero = llvm::ConstantFP::get(builder.getFloatTy(), 0.0);
    return {.lo = zero, .hi = zero, .known = builder.getFalse()};
  }
  if (is_uniform(value))
    return where.finite({.lo = corner(value), .hi = corner(value), .known = builder.getTrue()});
  if (const int summary = sides_.summary_of(value); summary >= 0) {
    const AbstractFloat extrema =
        where.finite({.lo = end_of(summary, false), .hi = end_of(summary, true), .known = builder.getTrue()});
    std::set<const llvm::Value*> seen;
    if (is_rounded_alike(*value, seen)) return extrema;
    return where.with_margin(extrema, 0x1p-18, 0x1p-18, builder.getFalse());
  }
  return transfer_float(*llvm::cast<llvm::Instruction>(value), where);
}

AbstractFloat Transfer::transfer_float(llvm::Instruction& instruction, const Domain& where) {
  using llvm::Instruction;
  // Ends are rounded as the hook rounds the value itself.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(where.builder());
  where.builder().setFastMathFlags(
      llvm::isa<llvm::FPMathOperator>(instruction) ? instruction.getFastMathFlags() : llvm::FastMathFlags());
  llvm::Value* const first = instruction.getOperand(0);
  const auto operand = [&](unsigned i) { return real(instruction.getOperand(i), where); };
  switch (instruction.getOpcode()) {
    case Instruction::SIToFP:
      if (first->getType()->isIntegerTy(32)) return where.to_float(where.range(integer(first, where)));
      break;
    case Instruction::FNeg:
      return where.negate(operand(0));
    case Instruction::FAdd:
      return where.add(operand(0), operand(1));
    case Instruction::FSub:
      return where.add(operand(0), where.negate(operand(1)));
    case Instruction::FMul:
    case Instruction::FDiv:
      return transfer_product(instruction, where);
    case Instruction::Select:
      return where.select(boolean(first, where), operand(1), operand(2));
    case Instruction::Call:
      return transfer_float_call(llvm::cast<llvm::CallInst>(instruction), where);
    default:
      break;
  }
  return float_fallback(instruction, where);
}

/// One value where all that goes into it is the same over the tile.
AbstractFloat Transfer::float_fallback(llvm::Instruction& instruction, const Domain& where) {
  note_imprecise(instruction);
  llvm::Value* const value = corner(&instruction);
  return where.finite({.lo = value, .hi = value, .known = operands_are_points(instruction)});
}

AbstractFloat Transfer::transfer_product(llvm::Instruction& instruction, const Domain& where) {
  const bool divides = instruction.getOpcode() == llvm::Instruction::FDiv;
  const AbstractFloat product =
      where.product(real(instruction.getOperand(0), where), real(instruction.getOperand(1), where), divides);
  if (is_power_of_two(instruction.getOperand(1)) || !instruction.hasAllowContract()) return product;
  return where.with_margin(product, 0x1p-20, 0x1p-100, operands_are_points(instruction));
}

AbstractFloat Transfer::transfer_float_call(llvm::CallInst& call, const Domain& where) {
  llvm::IRBuilder<>& builder = where.builder();
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  const auto operand = [&](unsigned i) { return real(call.getArgOperand(i), where); };
  if (id == llvm::Intrinsic::minnum) return where.minimum(operand(0), operand(1));
  if (id == llvm::Intrinsic::maxnum) return where.maximum(operand(0), operand(1));
  if (id == llvm::Intrinsic::fabs) {
    const AbstractFloat x = operand(0);
    const AbstractFloat negated = where.negate(x);
    const AbstractFloat zero = real(llvm::ConstantFP::get(builder.getFloatTy(), 0.0), where);
    AbstractFloat result = where.maximum(x, negated);
    result.lo = where.maximum(zero, {.lo = result.lo, .hi = result.lo, .known = x.known}).lo;
    result.min = std::max(result.min, 0.0);
    return result;
  }
  const auto rising = rising_function(call);
  if (!rising) return float_fallback(call, where);
  const AbstractFloat x = operand(0);
  const auto of = [&](llvm::Value* argument) {
    return builder.CreateCall(call.getFunctionType(), call.getCalledOperand(), {argument});
  };
  const auto bound = [&](double end, double otherwise) {
    const double result = std::isfinite(end) ? rising->evaluate(end) : otherwise;
    return std::isnan(result) ? otherwise : result;
  };
  const AbstractFloat result = where.finite({.lo = of(x.lo),
                                             .hi = of(x.hi),
                                             .known = x.known,
                                             .min = bound(x.min, -kInf),
                                             .max = bound(x.max, kInf)});
  const auto [relative, absolute] = rising->margin;
  return relative == 0 ? result : where.with_margin(result, relative, absolute, operands_are_points(call));
}

AbstractInt Transfer::truncated(llvm::CallInst& conversion, const Domain& where) {
  llvm::IRBuilder<>& builder = where.builder();
  const AbstractFloat x = real(conversion.getArgOperand(0), where);
  // Bounds hold where x is known: everywhere, where a constant says so.
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(x.known);
  const bool is_bounded = known != nullptr && known->isOne();
  const auto whole = [&](double bound) {
    return static_cast<std::int64_t>(
        std::clamp(bound, static_cast<double>(kI32Min), static_cast<double>(kI32Max)));
  };
  const std::int64_t min = is_bounded ? whole(x.min) : kI32Min;
  const std::int64_t max = is_bounded ? whole(x.max) : kI32Max;
  const auto of = [&](llvm::Value* end, std::int64_t otherwise) {
    llvm::CallInst* const number =
        builder.CreateCall(conversion.getFunctionType(), conversion.getCalledOperand(), {end});
    if (is_bounded && max < kI32Max)
      number->addRangeRetAttr(
          llvm::ConstantRange::getNonEmpty(llvm::APInt(32, static_cast<std::uint64_t>(min), true),
                                           llvm::APInt(32, static_cast<std::uint64_t>(max), true) + 1));
    return builder.CreateSelect(x.known, where.widen(number), where.i64(otherwise));
  };
  return where.interval(of(x.lo, kI32Min), of(x.hi, kI32Max), min, max);
}

std::optional<AbstractBool> Transfer::compare_floats(llvm::FCmpInst& compare, const Domain& where) {
  using llvm::CmpInst;
  if (!compare.getOperand(0)->getType()->isFloatTy()) return {};
  CmpInst::Predicate predicate =
      CmpInst::getOrderedPredicate(compare.getPredicate());  // of numbers, the same
  AbstractFloat a = real(compare.getOperand(0), where);
  AbstractFloat b = real(compare.getOperand(1), where);
  if (predicate == CmpInst::FCMP_OGT || predicate == CmpInst::FCMP_OGE) {
    predicate = CmpInst::getSwappedPredicate(predicate);
    std::swap(a, b);
  }
  switch (predicate) {
    case CmpInst::FCMP_OLT:
    case CmpInst::FCMP_OLE:
      return where.less(a, b, predicate == CmpInst::FCMP_OLE);
    case CmpInst::FCMP_OEQ:
      return where.equal(a, b);
    case CmpInst::FCMP_ONE:
      return where.not_(where.equal(a, b));
    default:
      return {};
  }
}

}  // namespace fa
