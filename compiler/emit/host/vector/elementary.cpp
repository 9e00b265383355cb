#include "compiler/emit/host/vector/elementary.h"

#include "compiler/emit/host/vector/math.h"
#include "compiler/ir/functions.h"
#include "compiler/ir/math/exact_math.h"

namespace fa {
namespace {

constexpr int kMostInPlace = 48;  // calls, of all hooks together

/// Null where it is no elementary function.
llvm::Value* in_place(llvm::IRBuilder<>& ir, const HostCpu& cpu, const llvm::CallInst& from,
                      const std::vector<llvm::Value*>& args) {
  if (args.empty()) return nullptr;
  llvm::Value* x = args[0];
  if (const auto exact = exact_function_of(from)) return ExactMath(ir).call(*exact, x);
  if (const auto sine = sine_of(from)) return ExactMath(ir).call(*sine, x);
  HostMath math(ir, cpu);
  switch (from.getIntrinsicID()) {
    case llvm::Intrinsic::exp:
      return math.exp(x);
    case llvm::Intrinsic::exp2:
      return math.exp2(x);
    case llvm::Intrinsic::log:
      return math.log(x);
    case llvm::Intrinsic::log2:
      return math.log2(x);
    case llvm::Intrinsic::tanh:
      return math.tanh(x);
    case llvm::Intrinsic::fptosi_sat:
      return math.to_i32(x);
    default:
      break;
  }
  const llvm::Function* callee = from.getCalledFunction();
  const std::string_view name = callee ? std::string_view(callee->getName()) : "";
  if (name == kSigmoidName) return math.sigmoid(x);
  if (name == kRsqrtName) return math.rsqrt(x);
  if (name == kErfName) return math.erf(x);
  if (name == kAtanName) return math.atan(x);
  if (name == kLog1pName) return math.log1p(x);
  if (name == kExpm1Name) return math.expm1(x);
  if (name == kAtan2Name) return math.atan2(x, args[1]);
  if (name == kPowName) return math.pow(x, args[1]);
  return nullptr;
}

/// The function that computes what `from` calls, of arguments of these types; made by its first use.
llvm::Function* out_of_line(const HostModule& host, const llvm::CallInst& from,
                            const std::vector<llvm::Value*>& args, llvm::FastMathFlags flags) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(args[0]->getType());
  std::string name = "elementary." + from.getCalledFunction()->getName().str();
  if (exact_function_of(from)) name += ".exact";
  if (flags.allowContract()) name += ".contract";
  name += "." + std::to_string(vector == nullptr ? 1 : vector->getNumElements());
  if (llvm::Function* made = host.module.getFunction(name)) return made;

  std::vector<llvm::Type*> types;
  for (const llvm::Value* arg : args) types.push_back(arg->getType());
  llvm::Type* element = from.getType();
  llvm::Type* result =
      vector == nullptr ? element : llvm::FixedVectorType::get(element, vector->getNumElements());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                          llvm::Function::InternalLinkage, name, host.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  llvm::IRBuilder<> body(llvm::BasicBlock::Create(host.context(), "entry", function));
  body.setFastMathFlags(flags);
  std::vector<llvm::Value*> values;
  for (llvm::Argument& arg : function->args()) values.push_back(&arg);
  body.CreateRet(in_place(body, host.cpu, from, values));
  return function;
}

/// `fptosi_sat` is a few instructions, and no call is worth it.
bool is_elementary(const llvm::CallInst& call) {
  if (exact_function_of(call) || sine_of(call)) return true;
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::tanh:
      return true;
    case llvm::Intrinsic::not_intrinsic: {
      const llvm::Function* callee = call.getCalledFunction();
      const std::string_view name = callee ? std::string_view(callee->getName()) : "";
      for (const std::string_view known :
           {kSigmoidName, kRsqrtName, kErfName, kAtanName, kLog1pName, kExpm1Name, kAtan2Name, kPowName})
        if (name == known) return true;
      return false;
    }
    default:
      return false;
  }
}

}  // namespace

llvm::Value* elementary(llvm::IRBuilder<>& ir, const HostModule& host, const llvm::CallInst& from,
                        const std::vector<llvm::Value*>& args) {
  if (!host.calls_elementary || !is_elementary(from)) return in_place(ir, host.cpu, from, args);
  return ir.CreateCall(out_of_line(host, from, args, ir.getFastMathFlags()), args);
}

bool has_many_elementary_calls(std::initializer_list<IrModule> modules) {
  int calls = 0;
  for (const IrModule& module : modules) {
    if (module == nullptr) continue;
    for (const llvm::Function& function : *module)
      for (const llvm::Instruction& instruction : llvm::instructions(function))
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
          calls += is_elementary(*call) ? 1 : 0;
  }
  return calls > kMostInPlace;
}

}  // namespace fa
