// The sink of a host kernel: a row's softmax begins as if it had met a key of that logit and of value 0.
#include "compiler/emit/host/call.h"
#include "compiler/emit/host/parts.h"

#include <limits>
#include <numbers>

namespace fa {

std::pair<llvm::Value*, llvm::Value*> first_softmax(const HostModule& host, HostBuilder& build,
                                                    llvm::Value* params, llvm::Value* b, llvm::Value* h) {
  llvm::Value* const minus_inf = build.f32(-std::numeric_limits<double>::infinity());
  if (host.hooks.sink == nullptr) return {minus_inf, build.f32(0)};
  llvm::IRBuilder<>& ir = build.ir();
  std::vector<llvm::Value*> args = {build.f32(0), b, h, build.i32(0), build.i32(0)};
  add_uniforms(host, build, params, args);
  llvm::CallInst* call = ir.CreateCall(host.own(*host.hooks.sink), args);
  llvm::Value* logit = ir.CreateFMul(call, build.f32(std::numbers::log2e));
  llvm::Value* is_none = ir.CreateFCmpOEQ(logit, minus_inf);
  llvm::Value* sum = ir.CreateSelect(is_none, build.f32(0), build.f32(1));
  inline_call(host, build, call);
  return {logit, sum};
}

}  // namespace fa
