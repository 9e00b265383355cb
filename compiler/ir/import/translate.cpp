// The driver: translates each instruction once, in order. What cannot be translated is remembered, and
// refused only where the result needs it.
#include "compiler/ir/import/translate.h"

#include <fmt/format.h>

#include "compiler/ir/import/index.h"
#include "compiler/ir/llvm/flow.h"
#include "compiler/ir/llvm/reading.h"
#include "compiler/spec/parse/ast.h"

namespace fa {
namespace {

constexpr std::size_t kMostBlocks = 1024;  // conditions are found by recursion over blocks

bool is_harmless(const llvm::CallBase& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
    case llvm::Intrinsic::invariant_start:
    case llvm::Intrinsic::invariant_end:
      return true;
    default:
      return false;
  }
}

}  // namespace

Translator::Translator(const CheckedSpec& spec, const HookFile& file, llvm::Function& hook)
    : spec_(spec),
      hook_(hook),
      build_(spec, file.line, file.column),
      dominators_(std::make_unique<llvm::DominatorTree>(hook)),
      post_dominators_(std::make_unique<llvm::PostDominatorTree>(hook)) {}

Translator::~Translator() = default;

void Translator::refuse(const llvm::Value& at, const std::string& problem, const std::string& remedy) const {
  throw Refusal{fmt::format("@{}: {} {}", hook_.getName().str(), quote(at), problem), remedy};
}

void Translator::refuse_effects() const {
  for (const llvm::Instruction& instruction : llvm::instructions(hook_))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        call != nullptr && !is_harmless(*call))
      refuse_call(*call);
  for (const llvm::Instruction& instruction : llvm::instructions(hook_)) {
    if (llvm::isa<llvm::CallBase>(instruction)) continue;
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load != nullptr && !load->isSimple())
      refuse(instruction, "is a volatile or atomic read", "read it plainly");
    if (instruction.mayWriteToMemory())
      refuse(instruction, "writes memory", "a hook only computes its result: return the value instead");
    if (llvm::isa<llvm::AllocaInst>(instruction))
      refuse(instruction, "is a local array or variable whose place in memory matters",
             "make a table `static const`, index a local array with constants only");
    if (llvm::isa<llvm::UnreachableInst>(instruction))
      refuse(instruction, "is where the hook does not return", "return a value on every path");
    if (instruction.isTerminator() &&
        !llvm::isa<llvm::BranchInst, llvm::SwitchInst, llvm::ReturnInst>(instruction))
      refuse(instruction, "is no plain branch", "use if, switch and loops only; no exceptions");
  }
}

ExprPtr Translator::run() {
  if (hook_.size() > kMostBlocks)
    throw Refusal{fmt::format("@{}: {} blocks of instructions; at most {} are taken", hook_.getName().str(),
                              hook_.size(), kMostBlocks),
                  "branch less: fewer iterations of a loop that is left early"};
  const bool is_score = hook_.arg_size() == 5;
  const Builtin names[] = {Builtin::score, Builtin::b, Builtin::h, Builtin::q_idx, Builtin::kv_idx};
  for (unsigned i = 0; i < hook_.arg_size(); ++i) {
    const Builtin name = names[is_score ? i : i + 1];
    values_[hook_.getArg(i)] = build_.builtin(name, name == Builtin::score ? Type::f32 : Type::i32);
  }
  refuse_effects();
  const llvm::ReturnInst* result = nullptr;
  llvm::ReversePostOrderTraversal<llvm::Function*> blocks(&hook_);
  for (const llvm::BasicBlock* block : blocks)
    for (const llvm::Instruction& instruction : *block) {
      if (const auto* found = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) result = found;
      if (instruction.getType()->isVoidTy() || instruction.getType()->isPointerTy()) continue;
      try {
        values_[&instruction] = translate_instruction(instruction);
      } catch (const Refusal& refusal) {
        refused_[&instruction] = refusal;
      }
    }
  if (result == nullptr)
    throw Refusal{fmt::format("@{}: never returns", hook_.getName().str()), "return a value on every path"};
  if (is_undefined(result->getReturnValue()))
    refuse(*result, "returns an undefined value", "give every variable a value before it is used");
  const ExprPtr expr = value(result->getReturnValue());
  if (const int depth = build_.depth(expr); depth > kMaxDepth)
    throw Refusal{fmt::format("@{}: the result nests {} operations deep; at most {} are taken",
                              hook_.getName().str(), depth, kMaxDepth),
                  "shorten the chain: fewer iterations of a loop whose steps depend on each other"};
  return expr;
}

bool Translator::is_undefined(const llvm::Value* value) const { return llvm::isa<llvm::UndefValue>(value); }

ExprPtr Translator::value(const llvm::Value* value) {
  if (const auto found = values_.find(value); found != values_.end()) return found->second;
  if (const auto found = refused_.find(value); found != refused_.end()) throw found->second;
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value))
    return values_[value] = translate_constant(*constant);
  throw InternalError("an imported hook uses a value before it is computed");
}

ExprPtr Translator::translate_constant(const llvm::Constant& constant) {
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&constant)) {
    if (integer->getType()->isIntegerTy(1)) return build_.boolean(integer->isOne());
    if (integer->getValue().isSignedIntN(32)) return build_.integer(integer->getSExtValue());
    refuse(constant, "does not fit 32 bits", "hooks compute with 32-bit integers");
  }
  if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&constant);
      real != nullptr && real->getType()->isFloatTy())
    return build_.real(static_cast<double>(real->getValueAPF().convertToFloat()));
  if (is_undefined(&constant))
    refuse(constant, "is an undefined value", "give every variable a value before it is used");
  if (constant.getType()->isDoubleTy())
    refuse(constant, "is a double", "hooks compute in float: write 0.5f, in Rust 0.5_f32");
  if (llvm::isa<llvm::ConstantExpr>(constant))
    refuse(constant, "is a number made of an address", "index tensors by numbers");
  refuse(constant, "is a constant of a kind that hooks do not know",
         "hooks compute with bool, int and float");
}

void Translator::refuse_type(const llvm::Instruction& at) const {
  const auto check = [&](const llvm::Type* type) {
    if (type->isDoubleTy() || type->isX86_FP80Ty() || type->isFP128Ty() || type->isPPC_FP128Ty())
      refuse(at, "computes in double", "hooks compute in float: write 0.5f and tanhf(x), in Rust f32");
    if (type->isVectorTy())
      refuse(at, "is a vector instruction",
             "compile without vectorisation: -fno-vectorize -fno-slp-vectorize, or -O1; rustc -C "
             "no-vectorize-loops -C no-vectorize-slp");
    if (type->isAggregateType()) refuse(at, "has a structure as its value", "use plain variables");
  };
  check(at.getType());
  for (const llvm::Value* operand : at.operand_values()) check(operand->getType());
}

ExprPtr Translator::translate_instruction(const llvm::Instruction& instruction) {
  refuse_type(instruction);
  const OfIncoming plain = [this](const llvm::Value* incoming) { return value(incoming); };
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
    return operation->getType()->isFloatingPointTy() ? float_binary(*operation) : integer_binary(*operation);
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) return merge(*phi, plain);
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction)) return select(*choice, plain);
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) return integer_compare(*compare);
  if (const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction)) return float_compare(*compare);
  if (const auto* read = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load(*read);
  if (const auto* called = llvm::dyn_cast<llvm::CallInst>(&instruction)) return call(*called);
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
    const bool is_float = cast->getSrcTy()->isFloatingPointTy() || cast->getDestTy()->isFloatingPointTy();
    return is_float ? float_cast(*cast) : integer_cast(*cast);
  }
  if (const auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(&instruction)) {
    // Any value may be taken, but the same for every use.
    if (!is_undefined(frozen->getOperand(0))) return value(frozen->getOperand(0));
    return values_[frozen->getOperand(0)] =
               translate_constant(*llvm::Constant::getNullValue(frozen->getType()));
  }
  if (instruction.getOpcode() == llvm::Instruction::FNeg)
    return build_.unary(Op::neg, value(instruction.getOperand(0)));
  refuse(instruction, "is not an instruction that hooks know", "use plain arithmetic, comparisons and reads");
}

ExprPtr translate(const CheckedSpec& spec, const HookFile& file, llvm::Function& hook) {
  return Translator(spec, file, hook).run();
}

}  // namespace fa
