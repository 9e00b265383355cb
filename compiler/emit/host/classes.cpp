// A mask's tile class, its summaries and the mask itself as functions of the kernel's object, by which the
// runtime finds which tiles to walk.
#include "compiler/emit/host/call.h"
#include "compiler/emit/host/parts.h"

#include <limits>

namespace fa {
namespace {

llvm::Function* exported(const HostModule& host, const std::string& name, llvm::Type* result,
                         llvm::ArrayRef<llvm::Type*> args) {
  llvm::Function* function = host.function(name.c_str(), result, args);
  function->setLinkage(llvm::Function::ExternalLinkage);
  return function;
}

/// A pair's end as a summary's value.
llvm::Value* value_of(llvm::IRBuilder<>& ir, llvm::Value* end, const Summary& summary) {
  if (!summary.is_float) return end;
  llvm::Value* turned = ir.CreateXor(end, ir.getInt32(0x7fffffff));
  return ir.CreateBitCast(ir.CreateSelect(ir.CreateICmpSLT(end, ir.getInt32(0)), turned, end),
                          ir.getFloatTy());
}

/// A summary's value as an i32 of the same order.
llvm::Value* ordered(llvm::IRBuilder<>& ir, llvm::Value* value, const Summary& summary) {
  if (!summary.is_float) return value;
  llvm::Value* bits = ir.CreateBitCast(value, ir.getInt32Ty());
  llvm::Value* turned = ir.CreateXor(bits, ir.getInt32(0x7fffffff));
  return ir.CreateSelect(ir.CreateICmpSLT(bits, ir.getInt32(0)), turned, bits);
}

void emit_class(const HostModule& host, const TileClasses& classes) {
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  llvm::Function* function =
      exported(host, kHostClassSymbol, i32, {pointer, pointer, i32, i32, i32, i32, i32, i32});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  std::vector<llvm::Value*> args;
  for (unsigned i = 2; i < 8; ++i) args.push_back(build.arg(i));  // b, h, the tile's four bounds
  add_uniforms(host, build, build.arg(0), args);
  for (std::size_t j = 0; j < classes.summaries.size(); ++j)
    for (const std::size_t end : {offsetof(SummaryPair, lo), offsetof(SummaryPair, hi)})
      args.push_back(value_of(ir, ir.CreateLoad(i32, build.at(build.arg(1), j * sizeof(SummaryPair) + end)),
                              classes.summaries[j]));
  llvm::CallInst* call = ir.CreateCall(host.own(*classes.function), args);
  ir.CreateRet(call);
  inline_call(host, build, call);
}

void emit_keeps(const HostModule& host) {
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  llvm::Function* function =
      exported(host, kHostKeepsSymbol, i32, {pointer, i32, i32, pointer, pointer, i32});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  std::vector<llvm::Value*> uniforms;
  add_uniforms(host, build, build.arg(0), uniforms);
  llvm::CallInst* call = nullptr;
  const HostBuilder::Values bits = build.loop(
      build.i32(0), build.arg(5), build.i32(1), {build.i32(0)},
      [&](llvm::Value* i, const HostBuilder::Values& sofar) -> HostBuilder::Values {
        const auto index = [&](unsigned of) {
          return ir.CreateLoad(i32, ir.CreateGEP(i32, build.arg(of), i));
        };
        std::vector<llvm::Value*> args = {build.f32(0), build.arg(1), build.arg(2), index(3), index(4)};
        args.insert(args.end(), uniforms.begin(), uniforms.end());
        call = ir.CreateCall(host.own(*host.hooks.mask_mod), args);
        return {ir.CreateOr(sofar[0], ir.CreateShl(ir.CreateZExt(call, i32), i))};
      },
      true);
  ir.CreateRet(bits[0]);
  inline_call(host, build, call);
}

void emit_summary(const HostModule& host, const Summary& summary, std::size_t number) {
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  llvm::Function* function =
      exported(host, kHostSummarySymbol + std::to_string(number), llvm::Type::getVoidTy(host.context()),
               {pointer, i32, i32, i32, i32, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  std::vector<llvm::Value*> uniforms;
  add_uniforms(host, build, build.arg(0), uniforms);
  llvm::CallInst* call = nullptr;
  const HostBuilder::Values start = {build.i32(std::numeric_limits<std::int32_t>::max()),
                                     build.i32(std::numeric_limits<std::int32_t>::min())};
  llvm::Value* end = ir.CreateAdd(build.arg(4), build.i32(1));
  const HostBuilder::Values extrema = build.loop(
      build.arg(3), end, build.i32(1), start,
      [&](llvm::Value* index, const HostBuilder::Values& sofar) -> HostBuilder::Values {
        std::vector<llvm::Value*> args = {build.arg(1), build.arg(2), index};
        args.insert(args.end(), uniforms.begin(), uniforms.end());
        call = ir.CreateCall(host.own(*summary.function), args);
        llvm::Value* const value = ordered(ir, call, summary);
        return {ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, sofar[0], value),
                ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, sofar[1], value)};
      },
      true);
  ir.CreateStore(extrema[0], build.at(build.arg(5), offsetof(SummaryPair, lo)));
  ir.CreateStore(extrema[1], build.at(build.arg(5), offsetof(SummaryPair, hi)));
  ir.CreateRetVoid();
  inline_call(host, build, call);
}

}  // namespace

void emit_classes(const HostModule& host, const TileClasses& classes) {
  if (classes.function != nullptr) emit_class(host, classes);
  if (!classes.map) return;
  emit_keeps(host);
  for (std::size_t j = 0; j < classes.summaries.size(); ++j) emit_summary(host, classes.summaries[j], j);
}

}  // namespace fa
