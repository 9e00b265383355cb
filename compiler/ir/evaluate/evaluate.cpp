// A small interpreter of LLVM IR. A function's values live in numbered slots, so that an element needs no
// look-up by name.
#include "compiler/ir/evaluate/evaluate.h"

#include "compiler/ir/evaluate/arithmetic.h"
#include "compiler/ir/evaluate/memory.h"
#include "compiler/ir/import/parts.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "compiler/ir/llvm/folding.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

using Value = EvaluatorValue;

constexpr std::int64_t kMostSteps = 1'000'000;
constexpr int kDeepestCall = 64;

template <class Operation>
Value float_value(const Value& a, const Value& b, Operation operation) {
  return {.real = operation(a.real, b.real),
          .single = operation(a.single, b.single),
          .by_score = a.by_score || b.by_score};
}

/// A function with its values numbered; constants fill their slots once.
struct Code {
  std::unordered_map<const llvm::Value*, unsigned> slots;
  std::vector<Value> initial;
};

}  // namespace

struct HookEvaluator::State {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  EvaluatorMemory memory;
  const llvm::Function* hook = nullptr;
  std::unordered_map<const llvm::Function*, Code> codes;
  std::int64_t steps = 0;
  double score_error = 0, error = 0;
  bool is_doubtful = false;
  bool is_undefined = false;  // an undefined value decided where the function went on

  State(const CheckedSpec& spec, HookData data) : memory(spec, std::move(data)) {}

  /// Notes a comparison of the score that the score's error could turn. (tools/reference/interpreter.h
  /// explains doubt; it does the same for hooks in the spec.)
  void doubt_unless_apart(const Value& a, double b, bool b_by_score = false) {
    if (!a.by_score && !b_by_score) return;
    const auto x = static_cast<double>(a.single);
    constexpr double kRounded = 0x1p-16;
    is_doubtful |= std::fabs(x - b) <= score_error + kRounded * std::max(std::fabs(x), std::fabs(b));
  }

  void doubt_near_whole(const Value& x) {
    doubt_unless_apart(x, std::nearbyint(static_cast<double>(x.single)));
  }

  const Code& code_of(const llvm::Function& function) {
    if (const auto found = codes.find(&function); found != codes.end()) return found->second;
    Code code;
    const auto number = [&](const llvm::Value* value) {
      if (!code.slots.try_emplace(value, static_cast<unsigned>(code.initial.size())).second) return;
      code.initial.emplace_back();
      const auto* known = llvm::dyn_cast<llvm::Constant>(value);
      if (known != nullptr && !llvm::isa<llvm::Function>(known))
        code.initial.back() = memory.constant(*known, module->getDataLayout());
    };
    for (const llvm::Argument& argument : function.args()) number(&argument);
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      number(&instruction);
      for (const llvm::Value* operand : instruction.operand_values())
        if (!llvm::isa<llvm::BasicBlock, llvm::MetadataAsValue>(operand)) number(operand);
    }
    return codes[&function] = std::move(code);
  }

  Value run(const llvm::Function& function, const std::vector<Value>& arguments, int depth) {
    if (depth > kDeepestCall) cannot_evaluate(function, "calls itself too deep");
    const Code& code = code_of(function);
    std::vector<Value> slots = code.initial;
    std::copy(arguments.begin(), arguments.end(), slots.begin());
    const auto get = [&](const llvm::Value* value) -> const Value& { return slots[code.slots.at(value)]; };
    const llvm::BasicBlock* before = nullptr;
    const llvm::BasicBlock* block = &function.getEntryBlock();
    while (true) {
      std::vector<std::pair<unsigned, Value>> phis;
      for (const llvm::PHINode& phi : block->phis())
        phis.emplace_back(code.slots.at(&phi), get(phi.getIncomingValueForBlock(before)));
      for (const auto& [slot, value] : phis) slots[slot] = value;
      for (const llvm::Instruction& instruction : *block) {
        if (llvm::isa<llvm::PHINode>(instruction)) continue;
        if (++steps > kMostSteps) cannot_evaluate(instruction, "is still running after a million steps");
        if (instruction.isTerminator()) break;
        Value result = step(instruction, get, depth);
        if (memory.has_undefined()) result.is_undefined |= takes_undefined(instruction, get);
        slots[code.slots.at(&instruction)] = std::move(result);
      }
      const llvm::Instruction* last = block->getTerminator();
      if (memory.has_undefined() && !llvm::isa<llvm::ReturnInst>(last))
        is_undefined |= takes_undefined(*last, get);
      if (const auto* result = llvm::dyn_cast<llvm::ReturnInst>(last))
        return result->getReturnValue() == nullptr ? Value{} : get(result->getReturnValue());
      before = block;
      if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(last)) {
        block =
            branch->getSuccessor(branch->isConditional() && get(branch->getCondition()).bits == 0 ? 1 : 0);
      } else if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(last)) {
        block = choice->getDefaultDest();
        for (const auto& option : choice->cases())
          if (option.getCaseValue()->getSExtValue() == get(choice->getCondition()).bits)
            block = option.getCaseSuccessor();
      } else {
        cannot_evaluate(*last);
      }
    }
  }

  /// Whether an operand that the result depends on is undefined.
  static bool takes_undefined(const llvm::Instruction& instruction, const auto& get) {
    if (llvm::isa<llvm::SelectInst>(instruction)) return get(instruction.getOperand(0)).is_undefined;
    if (llvm::isa<llvm::FreezeInst>(instruction)) return false;  // its value says so itself
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      if (call->getCalledFunction() != nullptr && !call->getCalledFunction()->isDeclaration()) return false;
      return std::any_of(call->arg_begin(), call->arg_end(), [&](const llvm::Value* argument) {
        return !llvm::isa<llvm::MetadataAsValue>(argument) && get(argument).is_undefined;
      });
    }
    return std::any_of(instruction.value_op_begin(), instruction.value_op_end(),
                       [&](const llvm::Value* operand) {
                         return !llvm::isa<llvm::BasicBlock>(operand) && get(operand).is_undefined;
                       });
  }

  /// Where one of the two choices is undefined, the result is the other.
  static const Value& chosen(const llvm::SelectInst& select, const auto& get) {
    const Value& first = get(select.getTrueValue());
    const Value& second = get(select.getFalseValue());
    if (llvm::isa<llvm::UndefValue>(select.getTrueValue())) return second;
    if (llvm::isa<llvm::UndefValue>(select.getFalseValue())) return first;
    return get(select.getCondition()).bits != 0 ? first : second;
  }

  Value step(const llvm::Instruction& instruction, const auto& get, int depth) {
    using llvm::Instruction;
    const llvm::Type* type = instruction.getType();
    if (type->isVectorTy() || type->isAggregateType()) cannot_evaluate(instruction);
    const unsigned width = type->isIntegerTy() ? type->getIntegerBitWidth() : 0;
    if (width > 64) cannot_evaluate(instruction);
    const auto operand = [&](unsigned i) -> const Value& { return get(instruction.getOperand(i)); };
    switch (instruction.getOpcode()) {
      case Instruction::FAdd:
        return float_value(operand(0), operand(1), std::plus<>());
      case Instruction::FSub:
        return float_value(operand(0), operand(1), std::minus<>());
      case Instruction::FMul:
        return float_value(operand(0), operand(1), std::multiplies<>());
      case Instruction::FDiv:
        return float_value(operand(0), operand(1), std::divides<>());
      case Instruction::FNeg:
        return {.real = -operand(0).real, .single = -operand(0).single, .by_score = operand(0).by_score};
      case Instruction::Freeze: {
        Value frozen = operand(0);  // one value, the same wherever it is used
        frozen.is_undefined &= !llvm::isa<llvm::UndefValue>(instruction.getOperand(0));
        return frozen;
      }
      case Instruction::FPExt:
      case Instruction::BitCast:
      case Instruction::AddrSpaceCast:
        if (instruction.getOpcode() == Instruction::BitCast && !type->isPointerTy())
          cannot_evaluate(instruction);
        return operand(0);
      case Instruction::Select:
        return chosen(llvm::cast<llvm::SelectInst>(instruction), get);
      case Instruction::ICmp:
        return {.bits = integer_compare(llvm::cast<llvm::ICmpInst>(instruction), operand(0), operand(1)) ? -1
                                                                                                         : 0};
      case Instruction::FCmp:
        doubt_unless_apart(operand(0), static_cast<double>(operand(1).single), operand(1).by_score);
        return {.bits = llvm::FCmpInst::compare(llvm::APFloat(operand(0).single),
                                                llvm::APFloat(operand(1).single),
                                                llvm::cast<llvm::FCmpInst>(instruction).getPredicate())
                            ? -1
                            : 0};
      case Instruction::SExt:
        return operand(0);
      case Instruction::ZExt:
        return {.bits = static_cast<std::int64_t>(zero_extended(
                    operand(0).bits, instruction.getOperand(0)->getType()->getIntegerBitWidth()))};
      case Instruction::Trunc:
        return {.bits = sign_extended(operand(0).bits, width)};
      case Instruction::SIToFP:
        return float_value(static_cast<double>(operand(0).bits));
      case Instruction::UIToFP:
        return float_value(static_cast<double>(
            zero_extended(operand(0).bits, instruction.getOperand(0)->getType()->getIntegerBitWidth())));
      case Instruction::FPToSI:
      case Instruction::FPToUI:
        doubt_near_whole(operand(0));
        return to_integer(static_cast<double>(operand(0).single), width,
                          instruction.getOpcode() == Instruction::FPToSI);
      case Instruction::GetElementPtr:
        return address(llvm::cast<llvm::GEPOperator>(instruction), get);
      case Instruction::Alloca:
        return memory.new_local();
      case Instruction::Load:
        return memory.load(llvm::cast<llvm::LoadInst>(instruction), operand(0));
      case Instruction::Store:
        memory.store(llvm::cast<llvm::StoreInst>(instruction), operand(0), operand(1));
        return {};
      case Instruction::Call:
        return call(llvm::cast<llvm::CallInst>(instruction), get, depth);
      default:
        if (instruction.isBinaryOp())
          return integer_binary(instruction, operand(0).bits, operand(1).bits, width);
        cannot_evaluate(instruction);
    }
  }

  Value address(const llvm::GEPOperator& gep, const auto& get) {
    const llvm::DataLayout& layout = module->getDataLayout();
    Value at = get(gep.getPointerOperand());
    for (auto it = llvm::gep_type_begin(gep), end = llvm::gep_type_end(gep); it != end; ++it) {
      const std::int64_t index = get(it.getOperand()).bits;
      if (llvm::StructType* structure = it.getStructTypeOrNull())
        at.bits += static_cast<std::int64_t>(layout.getStructLayout(structure)
                                                 ->getElementOffset(static_cast<unsigned>(index))
                                                 .getFixedValue());
      else
        at.bits += index * static_cast<std::int64_t>(it.getSequentialElementStride(layout).getFixedValue());
    }
    return at;
  }

  Value call(const llvm::CallInst& call, const auto& get, int depth) {
    const llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr) cannot_evaluate(call);
    if (!callee->isDeclaration()) {
      std::vector<Value> arguments;
      for (const llvm::Value* argument : call.args()) arguments.push_back(get(argument));
      return run(*callee, arguments, depth + 1);
    }
    const auto arg = [&](unsigned i) -> const Value& { return get(call.getArgOperand(i)); };
    if (call.getType()->isFloatTy()) {
      if (is_rounding(call)) doubt_near_whole(arg(0));
      return float_call(call, arg);
    }
    if (call.getIntrinsicID() == llvm::Intrinsic::fptosi_sat ||
        call.getIntrinsicID() == llvm::Intrinsic::fptoui_sat)
      doubt_near_whole(arg(0));
    if (call.getType()->isVoidTy() && call.getIntrinsicID() != llvm::Intrinsic::not_intrinsic) {
      if (llvm::isa<llvm::MemIntrinsic>(call)) cannot_evaluate(call);
      return {};
    }
    return integer_call(call, arg);
  }
};

HookEvaluator::HookEvaluator(const CheckedSpec& spec, HookKind kind, HookData data)
    : state_(new State(spec, std::move(data))) {
  const HookFile& file = kind == HookKind::score_mod ? spec.score_from : spec.mask_from;
  try {
    state_->module = read_hook_module(*file.bytes, state_->context);
    state_->hook = &find_hook(*state_->module, kind);
    scalarise(*state_->module);
  } catch (const Refusal& refusal) {
    throw SpecError({Diagnostic{.place = {.file = spec.file, .line = file.line, .column = file.column},
                                .message = fmt::format("'{}': {}", file.path, refusal.message),
                                .remedy = refusal.remedy}});
  }
}

HookEvaluator::~HookEvaluator() = default;
HookEvaluator::HookEvaluator(HookEvaluator&&) noexcept = default;

double HookEvaluator::evaluate(double score, double score_error, int b, int h, int q_idx, int kv_idx) {
  State& state = *state_;
  std::vector<Value> arguments;
  const bool is_score = state.hook->arg_size() == 5;
  if (is_score) {
    arguments.push_back(float_value(score));
    arguments.back().by_score = true;
  }
  for (const int index : {b, h, q_idx, kv_idx}) arguments.push_back({.bits = index});
  state.steps = 0;
  state.score_error = score_error;
  state.is_doubtful = state.is_undefined = false;
  const Value result = state.run(*state.hook, arguments, 0);
  state.memory.forget_locals();
  state.is_undefined |= result.is_undefined;
  // The kernel's error is estimated as several times the difference of the f32 and the double result.
  state.error = score_error + 8 * std::fabs(result.real - static_cast<double>(result.single)) +
                0x1p-21 * std::fabs(result.real);
  if (std::isnan(state.error)) state.error = 0;
  if (is_score) return result.real;
  return result.bits != 0 ? 1 : 0;
}

std::int64_t HookEvaluator::reads_outside() const { return state_->memory.reads_outside(); }
double HookEvaluator::error() const { return state_->error; }
bool HookEvaluator::is_doubtful() const { return state_->is_doubtful; }
bool HookEvaluator::is_undefined() const { return state_->is_undefined; }

}  // namespace fa
