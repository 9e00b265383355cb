#include "tests/hook_jit.h"

#include "compiler/ir/llvm.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>
#pragma GCC diagnostic pop

namespace fa::test {

struct HookJit::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

namespace {

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

HookJit::HookJit(HookIr hooks) : state_(std::make_unique<State>()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : *hooks.module)
    if (!function.isDeclaration()) functions.push_back(&function);
  for (llvm::Function* function : functions) add_wrapper(*function);
  state_->jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  hooks.module->setDataLayout(state_->jit->getDataLayout());
  llvm::cantFail(state_->jit->addIRModule(
      llvm::orc::ThreadSafeModule(std::move(hooks.module), std::move(hooks.context))));
}

HookJit::~HookJit() = default;

HookJit::Function HookJit::find(const std::string& name) const {
  return llvm::cantFail(state_->jit->lookup("call." + name)).toPtr<Function>();
}

}  // namespace fa::test
