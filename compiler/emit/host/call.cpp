#include "compiler/emit/host/call.h"

#include "compiler/emit/host/vector/elementary.h"
#include "compiler/ir/llvm/cloning.h"
#include "fa/error.h"

namespace fa {

void add_uniforms(const HostModule& host, HostBuilder& build, llvm::Value* params,
                  std::vector<llvm::Value*>& to) {
  for (const HookArg& arg : host.hooks.args)
    if (llvm::Value* value = load_uniform(build.ir(), params, arg)) to.push_back(value);
}

void inline_call(const HostModule& host, HostBuilder& build, llvm::CallInst* call) {
  llvm::Function* const callee = call->getCalledFunction();
  llvm::InlineFunctionInfo info;
  if (!llvm::InlineFunction(*call, info).isSuccess())
    throw InternalError("the host back end cannot inline a derived function");
  callee->eraseFromParent();
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(*build.function()))
    if (auto* found = llvm::dyn_cast<llvm::CallInst>(&instruction)) calls.push_back(found);
  for (llvm::CallInst* found : calls) {
    llvm::IRBuilder<> at(found);
    at.setFastMathFlags(build.ir().getFastMathFlags());
    const std::vector<llvm::Value*> args(found->arg_begin(), found->arg_end());
    if (llvm::Value* made = elementary(at, host, *found, args)) {
      found->replaceAllUsesWith(made);
      found->eraseFromParent();
    }
  }
}

}  // namespace fa
