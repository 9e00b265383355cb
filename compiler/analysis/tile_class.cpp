#include "compiler/analysis/tile_class.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

#include "compiler/analysis/domain.h"
#include "compiler/ir/simplify.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/Analysis/CmpInstAnalysis.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Cloning.h>
#pragma GCC diagnostic pop

namespace fa {
namespace {

using namespace llvm::PatternMatch;

/// Bits of what a value depends on, of the five element arguments every hook begins with.
enum : unsigned { kScore = 1, kB = 2, kH = 4, kQ = 8, kKv = 16 };

constexpr unsigned kFirstUniform = 5;  // score, b, h, q_idx, kv_idx

class Lift {
 public:
  explicit Lift(HookIr& hooks) : hooks_(hooks), mask_(*hooks.mask_mod) {}

  TileClasses run() {
    TileClasses classes;
    if (mask_.size() != 1) {
      classes.imprecise.push_back("the mask has a loop: every tile is partial");
      return classes;
    }
    find_dependences();
    find_summaries();
    make_functions();
    llvm::IRBuilder<> builder(&class_->getEntryBlock());
    Domain domain(builder, argument("q_lo"), argument("q_hi"), argument("kv_lo"), argument("kv_hi"));
    domain_ = &domain;
    AbstractBool result = domain.unknown();
    for (llvm::Instruction& instruction : mask_.getEntryBlock()) {
      if (auto* ret = llvm::dyn_cast<llvm::ReturnInst>(&instruction))
        result = boolean(ret->getReturnValue());
      else
        visit(instruction);
    }
    builder.CreateRet(builder.CreateSelect(
        result.may_be_true,
        builder.CreateSelect(result.may_be_false, builder.getInt32(1), builder.getInt32(2)),
        builder.getInt32(0)));
    simplify(*class_);
    classes.function = class_;
    classes.summaries = std::move(summaries_);
    classes.imprecise = std::move(imprecise_);
    return classes;
  }

 private:
  // ---- what depends on what
  // ------------------------------------------------------------------------------------

  unsigned depends(const llvm::Value* value) const {
    const auto found = depends_.find(value);
    return found == depends_.end() ? 0 : found->second;
  }

  void find_dependences() {
    for (unsigned i = 0; i < kFirstUniform; ++i) depends_[mask_.getArg(i)] = 1u << i;
    for (const llvm::Instruction& instruction : mask_.getEntryBlock()) {
      unsigned bits = 0;
      for (const llvm::Value* operand : instruction.operands()) bits |= depends(operand);
      depends_[&instruction] = bits;
      bool opaque = is_opaque(instruction);
      for (const llvm::Value* operand : instruction.operands()) opaque |= opaque_.contains(operand);
      if (opaque) opaque_[&instruction] = true;
    }
  }

  /// Operations whose interval says little, so that evaluating every index is worth it.
  static bool is_opaque(const llvm::Instruction& instruction) {
    using llvm::Instruction;
    if (!instruction.getType()->isIntegerTy()) return llvm::isa<llvm::LoadInst>(instruction);
    switch (instruction.getOpcode()) {
      case Instruction::Load:
        return true;
      case Instruction::Xor:
        return !instruction.getType()->isIntegerTy(1);
      case Instruction::Or:
        return !instruction.getType()->isIntegerTy(1) &&
               !llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint();
      case Instruction::And: {
        const llvm::APInt* bits = nullptr;
        if (instruction.getType()->isIntegerTy(1)) return false;
        return !match(instruction.getOperand(1), m_APInt(bits)) ||
               !((*bits + 1).isPowerOf2() || bits->isNegatedPowerOf2());
      }
      default:
        return false;
    }
  }

  /// Maximal parts of one side only that contain something opaque.
  void find_summaries() {
    for (llvm::Instruction& instruction : mask_.getEntryBlock()) {
      const unsigned side = depends(&instruction) & (kQ | kKv);
      if ((side != kQ && side != kKv) || !opaque_.contains(&instruction)) continue;
      const bool i32 = instruction.getType()->isIntegerTy(32);
      const bool i1 = instruction.getType()->isIntegerTy(1);
      if (!i32 && !i1) continue;
      bool maximal = false;
      for (const llvm::User* user : instruction.users()) {
        const auto* next = llvm::cast<llvm::Instruction>(user);
        const unsigned next_side = depends(next) & (kQ | kKv);
        maximal |= llvm::isa<llvm::ReturnInst>(next) || next_side != side;
      }
      if (maximal) roots_[&instruction] = add_summary(instruction, side == kQ);
    }
  }

  std::vector<llvm::Type*> uniform_types() const {
    std::vector<llvm::Type*> types;
    for (unsigned i = kFirstUniform; i < mask_.arg_size(); ++i) types.push_back(mask_.getArg(i)->getType());
    return types;
  }

  llvm::Function* make_function(const std::string& name, const std::vector<std::string>& leading,
                                const std::vector<std::string>& trailing) {
    llvm::Type* i32 = llvm::Type::getInt32Ty(mask_.getContext());
    std::vector<llvm::Type*> types(leading.size(), i32);
    for (llvm::Type* type : uniform_types()) types.push_back(type);
    types.insert(types.end(), trailing.size(), i32);
    auto* function = llvm::Function::Create(llvm::FunctionType::get(i32, types, false),
                                            llvm::Function::InternalLinkage, name, hooks_.module.get());
    unsigned index = 0;
    for (const std::string& argument_name : leading) function->getArg(index++)->setName(argument_name);
    for (unsigned i = kFirstUniform; i < mask_.arg_size(); ++i, ++index) {
      function->getArg(index)->setName(mask_.getArg(i)->getName());
      function->addParamAttrs(index,
                              llvm::AttrBuilder(mask_.getContext(), mask_.getAttributes().getParamAttrs(i)));
    }
    for (const std::string& argument_name : trailing) function->getArg(index++)->setName(argument_name);
    function->addFnAttrs(llvm::AttrBuilder(mask_.getContext(), mask_.getAttributes().getFnAttrs()));
    llvm::BasicBlock::Create(mask_.getContext(), "entry", function);
    return function;
  }

  int add_summary(llvm::Instruction& root, bool of_query) {
    const int index = static_cast<int>(summaries_.size());
    llvm::Function* function = make_function(fmt::format("summary.{}", index), {"b", "h", "idx"}, {});
    llvm::IRBuilder<> builder(&function->getEntryBlock());
    llvm::ValueToValueMapTy map;
    map[mask_.getArg(0)] = llvm::PoisonValue::get(mask_.getArg(0)->getType());
    map[mask_.getArg(1)] = function->getArg(0);
    map[mask_.getArg(2)] = function->getArg(1);
    map[mask_.getArg(3)] = function->getArg(2);  // the side that is not asked for does not occur
    map[mask_.getArg(4)] = function->getArg(2);
    for (unsigned i = kFirstUniform; i < mask_.arg_size(); ++i)
      map[mask_.getArg(i)] = function->getArg(i - 2);
    for (llvm::Instruction& instruction : mask_.getEntryBlock()) {
      if (instruction.isTerminator()) break;
      llvm::Instruction* copy = instruction.clone();
      builder.Insert(copy);
      llvm::RemapInstruction(copy, map, llvm::RF_None);
      map[&instruction] = copy;
      if (&instruction == &root) break;
    }
    llvm::Value* value = map[&root];
    if (value->getType()->isIntegerTy(1)) value = builder.CreateZExt(value, builder.getInt32Ty());
    builder.CreateRet(value);
    simplify(*function);
    const unsigned bits = depends(&root);
    summaries_.push_back({.function = function,
                          .of_query = of_query,
                          .depends_on_b = (bits & kB) != 0,
                          .depends_on_h = (bits & kH) != 0});
    return index;
  }

  void make_functions() {
    std::vector<std::string> trailing;
    for (std::size_t j = 0; j < summaries_.size(); ++j) {
      trailing.push_back(fmt::format("s{}_lo", j));
      trailing.push_back(fmt::format("s{}_hi", j));
    }
    class_ = make_function("tile_class", {"b", "h", "q_lo", "q_hi", "kv_lo", "kv_hi"}, trailing);
    // The mask at the tile's first element: where all that goes into a value is the same over the tile, this
    // is it.
    corner_[mask_.getArg(0)] = llvm::ConstantFP::get(mask_.getArg(0)->getType(), 0.0);
    corner_[mask_.getArg(1)] = argument("b");
    corner_[mask_.getArg(2)] = argument("h");
    corner_[mask_.getArg(3)] = argument("q_lo");
    corner_[mask_.getArg(4)] = argument("kv_lo");
    for (unsigned i = kFirstUniform; i < mask_.arg_size(); ++i)
      corner_[mask_.getArg(i)] = class_->getArg(i + 1);
  }

  llvm::Value* argument(llvm::StringRef name) const {
    for (llvm::Argument& arg : class_->args())
      if (arg.getName() == name) return &arg;
    throw InternalError("tile_class lacks an argument");
  }

  // ---- abstract interpretation
  // -----------------------------------------------------------------------------------

  AbstractInt integer(llvm::Value* value) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
      return domain_->constant(constant->getSExtValue());
    const auto found = integers_.find(value);
    if (found != integers_.end()) return found->second;
    if (value == mask_.getArg(3)) return domain_->q_idx();
    if (value == mask_.getArg(4)) return domain_->kv_idx();
    if (const auto* arg = llvm::dyn_cast<llvm::Argument>(value)) {
      const llvm::Attribute range = arg->getAttribute(llvm::Attribute::Range);
      if (!range.isValid()) return domain_->point(corner_[value]);
      return domain_->point(corner_[value], range.getRange().getSignedMin().getSExtValue(),
                            range.getRange().getSignedMax().getSExtValue());
    }
    return domain_->anything();
  }

  AbstractBool boolean(llvm::Value* value) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
      return domain_->known(domain_->builder().getInt1(constant->isOne()));
    const auto found = booleans_.find(value);
    return found != booleans_.end() ? found->second : domain_->unknown();
  }

  /// Whether `value` is the same over the whole tile, as an i1.
  llvm::Value* is_point(llvm::Value* value) {
    llvm::IRBuilder<>& builder = domain_->builder();
    if (llvm::isa<llvm::Constant>(value) || (depends(value) & (kQ | kKv | kScore)) == 0)
      return builder.getTrue();
    if (value->getType()->isIntegerTy(32)) return domain_->is_point(integer(value));
    if (value->getType()->isIntegerTy(1)) {
      const AbstractBool x = boolean(value);
      return builder.CreateNot(builder.CreateAnd(x.may_be_true, x.may_be_false));
    }
    return operands_are_points(*llvm::cast<llvm::Instruction>(value));
  }

  llvm::Value* operands_are_points(llvm::Instruction& instruction) {
    llvm::IRBuilder<>& builder = domain_->builder();
    llvm::Value* all = builder.getTrue();
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    for (llvm::Use& operand : instruction.operands())
      if (call == nullptr || call->isArgOperand(&operand))
        all = builder.CreateAnd(all, is_point(operand.get()));
    return all;
  }

  void visit(llvm::Instruction& instruction) {
    llvm::Instruction* copy = instruction.clone();
    domain_->builder().Insert(copy);
    llvm::RemapInstruction(copy, corner_, llvm::RF_None);
    corner_[&instruction] = copy;
    const bool i32 = instruction.getType()->isIntegerTy(32);
    const bool i1 = instruction.getType()->isIntegerTy(1);
    if (!i32 && !i1) return;
    const auto root = roots_.find(&instruction);
    if ((depends(&instruction) & (kQ | kKv)) == 0) {
      if (i32) integers_[&instruction] = domain_->point(copy);
      if (i1) booleans_[&instruction] = domain_->known(copy);
    } else if (root != roots_.end()) {
      llvm::Value* lo = argument(fmt::format("s{}_lo", root->second));
      llvm::Value* hi = argument(fmt::format("s{}_hi", root->second));
      llvm::IRBuilder<>& builder = domain_->builder();
      if (i32) integers_[&instruction] = domain_->interval(lo, hi, kI32Min, kI32Max);
      if (i1) {
        booleans_[&instruction] = {builder.CreateICmpNE(hi, builder.getInt32(0)),
                                   builder.CreateICmpEQ(lo, builder.getInt32(0))};
      }
    } else if (i32) {
      integers_[&instruction] = transfer_integer(instruction);
    } else {
      booleans_[&instruction] = transfer_boolean(instruction);
    }
  }

  /// Exact where every operand is the same over the tile; else anything.
  AbstractInt fallback(llvm::Instruction& instruction, std::int64_t min = kI32Min,
                       std::int64_t max = kI32Max) {
    note_imprecise(instruction);
    return domain_->exact_where(operands_are_points(instruction), corner_[&instruction], min, max);
  }

  AbstractInt transfer_integer(llvm::Instruction& instruction) {
    using llvm::Instruction;
    llvm::Value* const first = instruction.getOperand(0);
    llvm::Value* const second = instruction.getNumOperands() > 1 ? instruction.getOperand(1) : nullptr;
    const auto* overflowing = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(&instruction);
    const bool no_wrap = overflowing != nullptr && overflowing->hasNoSignedWrap();
    const auto* constant = second == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(second);
    const std::int64_t c = constant == nullptr ? 0 : constant->getSExtValue();
    switch (instruction.getOpcode()) {
      case Instruction::Add:
        return domain_->add(integer(first), integer(second), no_wrap);
      case Instruction::Sub:
        return domain_->subtract(integer(first), integer(second), no_wrap);
      case Instruction::Mul:
        return domain_->multiply(integer(first), integer(second), no_wrap);
      case Instruction::Shl:
        if (constant != nullptr && c >= 0 && c < 31)
          return domain_->multiply(integer(first), domain_->constant(std::int64_t{1} << c), no_wrap);
        break;
      case Instruction::AShr:
        if (constant != nullptr && c >= 0 && c < 32)
          return domain_->shift_right(integer(first), static_cast<int>(c));
        break;
      case Instruction::LShr:
        if (constant != nullptr && c >= 0 && c < 32 && integer(first).min >= 0)
          return domain_->shift_right(integer(first), static_cast<int>(c));
        break;
      case Instruction::SDiv:
      case Instruction::UDiv:
      case Instruction::SRem:
      case Instruction::URem:
        return transfer_division(instruction);
      case Instruction::And:
        return transfer_and(instruction, constant != nullptr, c);
      case Instruction::Or:
        if (llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint())
          return domain_->add(integer(first), integer(second), true);
        return fallback_bits(instruction);
      case Instruction::Xor:
        return fallback_bits(instruction);
      case Instruction::Select:
        return transfer_select(llvm::cast<llvm::SelectInst>(instruction));
      case Instruction::ZExt:
      case Instruction::SExt:
        if (first->getType()->isIntegerTy(1)) {
          const std::int64_t on = instruction.getOpcode() == Instruction::ZExt ? 1 : -1;
          return domain_->select(boolean(first), domain_->constant(on), domain_->constant(0));
        }
        break;
      case Instruction::Call:
        return transfer_call(llvm::cast<llvm::CallInst>(instruction));
      default:
        break;
    }
    return fallback(instruction);
  }

  AbstractInt transfer_division(llvm::Instruction& instruction) {
    using llvm::Instruction;
    const unsigned opcode = instruction.getOpcode();
    llvm::Value* divisor = instruction.getOperand(1);
    const AbstractInt x = integer(instruction.getOperand(0));
    const AbstractInt y = integer(divisor);
    const bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
    const bool same_divisor = (depends(divisor) & (kQ | kKv)) == 0;
    // Lowering divides unsigned only where it knows that neither side is negative; an imported hook may not.
    if (!same_divisor || (!is_signed && (x.min < 0 || y.min < 0))) return fallback(instruction);
    llvm::Value* value = divisor;
    if (!llvm::isa<llvm::Constant>(divisor)) value = corner_[divisor];
    if (opcode == Instruction::SDiv || opcode == Instruction::UDiv)
      return domain_->divide(x, value, y.min, y.max);
    return domain_->remainder(x, value, y.min, y.max);
  }

  AbstractInt transfer_and(llvm::Instruction& instruction, bool has_constant, std::int64_t c) {
    const AbstractInt x = integer(instruction.getOperand(0));
    if (has_constant && c >= 0 && ((c + 1) & c) == 0) return domain_->floor_mod(x, c + 1);
    if (has_constant && c < 0 && (-c & (-c - 1)) == 0) return domain_->align_down(x, __builtin_ctzll(-c));
    const AbstractInt y = integer(instruction.getOperand(1));
    if (x.min >= 0 || y.min >= 0)
      return fallback(instruction, 0, x.min < 0 ? y.max : (y.min < 0 ? x.max : std::min(x.max, y.max)));
    return fallback(instruction);
  }

  AbstractInt fallback_bits(llvm::Instruction& instruction) {
    const AbstractInt x = integer(instruction.getOperand(0));
    const AbstractInt y = integer(instruction.getOperand(1));
    if (x.min < 0 || y.min < 0) return fallback(instruction);
    std::int64_t bound = 1;
    while (bound <= std::max(x.max, y.max)) bound *= 2;
    return fallback(instruction, 0, bound - 1);
  }

  AbstractInt transfer_select(llvm::SelectInst& select) {
    // r < 0 ? r + c : r, with r = x rem c: the remainder of floor division.
    llvm::Value* remainder = nullptr;
    const llvm::APInt* divisor = nullptr;
    llvm::Value* dividend = nullptr;
    llvm::CmpInst::Predicate predicate{};
    if (match(&select, m_Select(m_ICmp(predicate, m_Value(remainder), m_Zero()),
                                m_Add(m_Deferred(remainder), m_APInt(divisor)), m_Deferred(remainder))) &&
        predicate == llvm::CmpInst::ICMP_SLT &&
        match(remainder, m_SRem(m_Value(dividend), m_SpecificInt(*divisor))) && divisor->isStrictlyPositive())
      return domain_->floor_mod(integer(dividend), divisor->getSExtValue());
    return domain_->select(boolean(select.getCondition()), integer(select.getTrueValue()),
                           integer(select.getFalseValue()));
  }

  AbstractInt transfer_call(llvm::CallInst& call) {
    const auto operand = [&](unsigned i) { return integer(call.getArgOperand(i)); };
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::smin:
        return domain_->minimum(operand(0), operand(1));
      case llvm::Intrinsic::smax:
        return domain_->maximum(operand(0), operand(1));
      case llvm::Intrinsic::umin:
        if (operand(0).min >= 0 && operand(1).min >= 0) return domain_->minimum(operand(0), operand(1));
        break;
      case llvm::Intrinsic::umax:
        if (operand(0).min >= 0 && operand(1).min >= 0) return domain_->maximum(operand(0), operand(1));
        break;
      case llvm::Intrinsic::abs:
        return domain_->absolute(operand(0));
      default:
        break;
    }
    return fallback(call);
  }

  AbstractBool fallback_boolean(llvm::Instruction& instruction) {
    note_imprecise(instruction);
    return domain_->exact_where(operands_are_points(instruction), corner_[&instruction]);
  }

  /// `a == b or a > b` is `a >= b`: apart, neither half is ever proved to hold all over a tile that both
  /// together cover.
  std::optional<AbstractBool> merge_compares(llvm::Instruction& instruction) {
    auto* x = llvm::dyn_cast<llvm::ICmpInst>(instruction.getOperand(0));
    auto* y = instruction.getNumOperands() > 1 ? llvm::dyn_cast<llvm::ICmpInst>(instruction.getOperand(1))
                                               : nullptr;
    const bool conjunction = instruction.getOpcode() == llvm::Instruction::And;
    if (x == nullptr || y == nullptr || (!conjunction && instruction.getOpcode() != llvm::Instruction::Or))
      return {};
    llvm::CmpInst::Predicate second = y->getPredicate();
    if (x->getOperand(0) == y->getOperand(1) && x->getOperand(1) == y->getOperand(0))
      second = llvm::CmpInst::getSwappedPredicate(second);
    else if (x->getOperand(0) != y->getOperand(0) || x->getOperand(1) != y->getOperand(1))
      return {};
    if (!x->getOperand(0)->getType()->isIntegerTy(32) || !llvm::predicatesFoldable(x->getPredicate(), second))
      return {};
    const unsigned first_code = llvm::getICmpCode(x->getPredicate());
    const unsigned second_code = llvm::getICmpCode(second);
    llvm::CmpInst::Predicate merged{};
    const unsigned code = conjunction ? first_code & second_code : first_code | second_code;
    const bool is_signed = x->isSigned() || llvm::CmpInst::isSigned(second);
    if (llvm::Constant* decided =
            llvm::getPredForICmpCode(code, is_signed, x->getOperand(0)->getType(), merged))
      return domain_->known(decided);
    return compare(*x, merged, x->getOperand(0), x->getOperand(1));
  }

  AbstractBool transfer_boolean(llvm::Instruction& instruction) {
    using llvm::Instruction;
    llvm::Value* x = nullptr;
    llvm::Value* y = nullptr;
    if (match(&instruction, m_Not(m_Value(x)))) return domain_->not_(boolean(x));
    if (const std::optional<AbstractBool> merged = merge_compares(instruction)) return *merged;
    if (match(&instruction, m_LogicalAnd(m_Value(x), m_Value(y))))
      return domain_->and_(boolean(x), boolean(y));
    if (match(&instruction, m_LogicalOr(m_Value(x), m_Value(y)))) return domain_->or_(boolean(x), boolean(y));
    switch (instruction.getOpcode()) {
      case Instruction::Xor:
        return domain_->xor_(boolean(instruction.getOperand(0)), boolean(instruction.getOperand(1)));
      case Instruction::Select:
        return domain_->select(boolean(instruction.getOperand(0)), boolean(instruction.getOperand(1)),
                               boolean(instruction.getOperand(2)));
      case Instruction::ICmp:
        if (instruction.getOperand(0)->getType()->isIntegerTy(32))
          return compare(instruction, llvm::cast<llvm::ICmpInst>(instruction).getPredicate(),
                         instruction.getOperand(0), instruction.getOperand(1));
        break;
      default:
        break;
    }
    return fallback_boolean(instruction);
  }

  AbstractBool compare(llvm::Instruction& instruction, llvm::CmpInst::Predicate predicate, llvm::Value* first,
                       llvm::Value* second) {
    using llvm::CmpInst;
    // (x ^ y) <u 2^k: the same block of 2^k, as LLVM writes x / 2^k == y / 2^k.
    llvm::Value* x = nullptr;
    llvm::Value* y = nullptr;
    const llvm::APInt* limit = nullptr;
    if (CmpInst::isUnsigned(predicate) && match(first, m_Xor(m_Value(x), m_Value(y))) &&
        match(second, m_APInt(limit))) {
      const bool less = predicate == CmpInst::ICMP_ULT && limit->isPowerOf2();
      const bool greater = predicate == CmpInst::ICMP_UGT && (*limit + 1).isPowerOf2();
      if (less || greater) {
        const int bits = static_cast<int>(less ? limit->logBase2() : (*limit + 1).logBase2());
        const AbstractBool same =
            domain_->equal(domain_->shift_right(integer(x), bits), domain_->shift_right(integer(y), bits));
        return less ? same : domain_->not_(same);
      }
    }
    // (x ^ y) < 0: the signs differ.
    if (predicate == CmpInst::ICMP_SLT && match(first, m_Xor(m_Value(x), m_Value(y))) &&
        match(second, m_Zero())) {
      const AbstractInt zero = domain_->constant(0);
      return domain_->xor_(domain_->less(integer(x), zero), domain_->less(integer(y), zero));
    }
    const AbstractInt a = integer(first);
    const AbstractInt b = integer(second);
    switch (predicate) {
      case CmpInst::ICMP_EQ:
        return domain_->equal(a, b);
      case CmpInst::ICMP_NE:
        return domain_->not_(domain_->equal(a, b));
      case CmpInst::ICMP_SLT:
        return domain_->less(a, b);
      case CmpInst::ICMP_SGE:
        return domain_->not_(domain_->less(a, b));
      case CmpInst::ICMP_SGT:
        return domain_->less(b, a);
      case CmpInst::ICMP_SLE:
        return domain_->not_(domain_->less(b, a));
      case CmpInst::ICMP_ULT:
        return unsigned_less(instruction, a, b);
      case CmpInst::ICMP_UGE:
        return domain_->not_(unsigned_less(instruction, a, b));
      case CmpInst::ICMP_UGT:
        return unsigned_less(instruction, b, a);
      case CmpInst::ICMP_ULE:
        return domain_->not_(unsigned_less(instruction, b, a));
      default:
        return fallback_boolean(instruction);
    }
  }

  /// x <u y. A negative number is larger than every other, so 0 <= x < y where y is not negative.
  AbstractBool unsigned_less(llvm::Instruction& instruction, const AbstractInt& x, const AbstractInt& y) {
    if (y.min >= 0) {
      const AbstractBool below = domain_->less(x, y);
      return x.min >= 0 ? below : domain_->and_(domain_->not_(domain_->less(x, domain_->constant(0))), below);
    }
    if (x.min >= 0) return domain_->or_(domain_->less(y, domain_->constant(0)), domain_->less(x, y));
    return fallback_boolean(instruction);
  }

  void note_imprecise(const llvm::Instruction& instruction) {
    if ((depends(&instruction) & (kQ | kKv)) != (kQ | kKv)) return;
    std::string what = instruction.getOpcodeName();
    if (llvm::isa<llvm::LoadInst>(instruction)) what = "a table read that depends on both q_idx and kv_idx";
    imprecise_.push_back(
        fmt::format("{}: known only where all that goes into it is the same over the tile", what));
  }

  HookIr& hooks_;
  llvm::Function& mask_;
  llvm::Function* class_ = nullptr;
  Domain* domain_ = nullptr;
  std::unordered_map<const llvm::Value*, unsigned> depends_;
  std::unordered_map<const llvm::Value*, bool> opaque_;
  std::unordered_map<const llvm::Value*, int> roots_;
  std::vector<Summary> summaries_;
  llvm::ValueToValueMapTy corner_;
  std::unordered_map<const llvm::Value*, AbstractInt> integers_;
  std::unordered_map<const llvm::Value*, AbstractBool> booleans_;
  std::vector<std::string> imprecise_;
};

}  // namespace

TileClasses derive_tile_classes(HookIr& hooks) {
  if (hooks.mask_mod == nullptr) return {};
  return Lift(hooks).run();
}

}  // namespace fa
