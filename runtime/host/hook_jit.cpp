#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/jit.h"

#include "runtime/host/hook_jit.h"

#include <cmath>
#include <new>
#include <system_error>

#include "compiler/ir/functions.h"
#include "compiler/ir/math/exact_math.h"
#include "fa/error.h"

namespace fa {

struct HookJit::State {
  bool is_out_of_memory = false;  // and so could not link; outlives the jit, which tells it
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

namespace {

// Beyond these LLVM optimises for seconds, in time that grows with their square, what is asked for some
// thousand elements alone: such hooks are translated as they stand.
constexpr unsigned kMostOptimised = 2000;

/// As operator new does: calls the installed handler first.
[[noreturn]] void throw_out_of_memory() {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}

constexpr const char* kWhat = "the hooks cannot be compiled for this machine";

template <class T>
T expect(llvm::Expected<T> value) {
  if (!value) throw BuildError(kWhat, llvm::toString(value.takeError()));
  return std::move(*value);
}

void expect(llvm::Error error) {
  if (error) throw BuildError(kWhat, llvm::toString(std::move(error)));
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float rsqrt(float x) { return 1.0f / std::sqrt(x); }

/// What hooks may call, besides instructions. Listed, not searched for: a static binary does not export them.
llvm::orc::SymbolMap known_symbols(llvm::orc::LLJIT& jit, const llvm::Module& module) {
  using Unary = float (*)(float);
  using Binary = float (*)(float, float);
  llvm::orc::SymbolMap known;
  const auto add = [&](llvm::StringRef name, auto* function) {
    const llvm::Function* own = module.getFunction(name);
    if (own != nullptr && !own->isDeclaration()) return;
    known[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                        llvm::JITSymbolFlags::Exported};
  };
  add("expf", static_cast<Unary>(&std::exp));
  add("exp2f", static_cast<Unary>(&std::exp2));
  add("logf", static_cast<Unary>(&std::log));
  add("log2f", static_cast<Unary>(&std::log2));
  add("tanhf", static_cast<Unary>(&std::tanh));
  add("sinf", static_cast<Unary>(&std::sin));
  add("cosf", static_cast<Unary>(&std::cos));
  add("sqrtf", static_cast<Unary>(&std::sqrt));
  add("erff", static_cast<Unary>(&std::erf));
  add("floorf", static_cast<Unary>(&std::floor));
  add("ceilf", static_cast<Unary>(&std::ceil));
  add("truncf", static_cast<Unary>(&std::trunc));
  add("roundevenf", static_cast<Unary>(&std::nearbyint));
  add("fminf", static_cast<Binary>(&std::fmin));
  add("fmaxf", static_cast<Binary>(&std::fmax));
  const auto declared = [](std::string_view name) { return llvm::StringRef(name.data(), name.size()); };
  add(declared(kSigmoidName), &sigmoid);
  add(declared(kRsqrtName), &rsqrt);
  add(declared(kErfName), static_cast<Unary>(&std::erf));
  add(declared(kAtanName), static_cast<Unary>(&std::atan));
  add(declared(kLog1pName), static_cast<Unary>(&std::log1p));
  add(declared(kExpm1Name), static_cast<Unary>(&std::expm1));
  add(declared(kAtan2Name), static_cast<Binary>(&std::atan2));
  add(declared(kPowName), static_cast<Binary>(&std::pow));
  return known;
}

llvm::orc::JITTargetMachineBuilder machine_for(const llvm::Module& module) {
  auto machine = expect(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (module.getInstructionCount() > kMostOptimised) machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  return machine;
}

/// void @call.NAME(ptr arguments, ptr result): one way to call any of them.
void add_wrapper(llvm::Function& function) {
  llvm::LLVMContext& context = function.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type* pointer = builder.getPtrTy();
  auto* wrapper = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer}, false),
      llvm::Function::ExternalLinkage, "call." + function.getName().str(), function.getParent());
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", wrapper));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : function.args()) {
    llvm::Value* slot =
        builder.CreateConstGEP1_32(builder.getInt64Ty(), wrapper->getArg(0), argument.getArgNo());
    arguments.push_back(builder.CreateLoad(argument.getType(), slot));
  }
  llvm::Value* result = builder.CreateCall(&function, arguments);
  if (result->getType()->isIntegerTy(1)) result = builder.CreateZExt(result, builder.getInt32Ty());
  builder.CreateStore(result, wrapper->getArg(1));
  builder.CreateRetVoid();
}

}  // namespace

HookJit::HookJit(std::shared_ptr<llvm::Module> module) : state_(std::make_unique<State>()) {
  static const bool ready = [] {
    return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  }();
  if (!ready) throw BuildError(kWhat, "this LLVM has no code generator for the machine it runs on");
  replace_exact_calls(*module);
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : *module)
    if (!function.isDeclaration()) functions.push_back(&function);
  for (llvm::Function* function : functions) add_wrapper(*function);
  llvm::orc::JITTargetMachineBuilder builder = machine_for(*module);
  state_->jit = expect(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
  llvm::orc::LLJIT& jit = *state_->jit;
  // The lookup's own error names the symbols that are missing, but not the reason.
  jit.getExecutionSession().setErrorReporter([state = state_.get()](llvm::Error error) {
    llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase& info) {
      state->is_out_of_memory |= info.convertToErrorCode() == std::errc::not_enough_memory;
    });
  });
  expect(jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(known_symbols(jit, *module))));
  // Compiled here, to an object: ORC would take the module's context over, which other modules share.
  const std::unique_ptr<llvm::TargetMachine> machine = expect(builder.createTargetMachine());
  module->setDataLayout(machine->createDataLayout());
  expect(jit.addObjectFile(expect(llvm::orc::SimpleCompiler(*machine)(*module))));
}

HookJit::~HookJit() = default;
HookJit::HookJit(HookJit&&) noexcept = default;
HookJit& HookJit::operator=(HookJit&&) noexcept = default;

HookJit::Function HookJit::find(const std::string& name) const {
  auto found = state_->jit->lookup("call." + name);
  if (!found) {
    const std::string why = llvm::toString(found.takeError());
    if (state_->is_out_of_memory) throw_out_of_memory();
    throw InternalError("the hooks have no function '" + name + "': " + why);
  }
  return found->toPtr<Function>();
}

}  // namespace fa
