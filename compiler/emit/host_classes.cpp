// A mask's tile class and its summaries as functions of the kernel's object, which the runtime walks tiles
// by.
#include "compiler/emit/host_math.h"
#include "compiler/emit/host_parts.h"
#include "compiler/emit/host_widen.h"

#include <limits>

#include "fa/error.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#pragma GCC diagnostic pop

namespace fa {
namespace {

/// The launch's values for a derived function's <uniforms>.
void add_uniforms(const HostModule& host, HostBuilder& build, llvm::Value* params,
                  std::vector<llvm::Value*>& to) {
  for (const HookArg& arg : host.hooks.args)
    if (llvm::Value* value = load_uniform(build.ir(), params, arg)) to.push_back(value);
}

/// Puts the called function's body in the call's place and gives elementary functions the code they have in
/// the mask itself: a class that rounds otherwise might contradict it.
void inline_call(const HostModule& host, HostBuilder& build, llvm::CallInst* call) {
  llvm::InlineFunctionInfo info;
  if (!llvm::InlineFunction(*call, info).isSuccess())
    throw InternalError("the host back end cannot inline a tile class");
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(*build.function()))
    if (auto* found = llvm::dyn_cast<llvm::CallInst>(&instruction)) calls.push_back(found);
  for (llvm::CallInst* found : calls) {
    llvm::IRBuilder<> at(found);
    at.setFastMathFlags(build.ir().getFastMathFlags());
    const std::vector<llvm::Value*> args(found->arg_begin(), found->arg_end());
    if (llvm::Value* made = elementary(at, host.cpu, *found, args)) {
      found->replaceAllUsesWith(made);
      found->eraseFromParent();
    }
  }
}

llvm::Function* exported(const HostModule& host, const std::string& name, llvm::Type* result,
                         std::initializer_list<llvm::Type*> args) {
  llvm::Function* function = host.function(name.c_str(), result, args);
  function->setLinkage(llvm::Function::ExternalLinkage);
  return function;
}

void emit_class(const HostModule& host, const TileClasses& classes) {
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  auto* i64 = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      exported(host, kHostClassSymbol, i32, {pointer, pointer, i32, i32, i32, i32, i32, i32, i64, i64});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  std::vector<llvm::Value*> args;
  for (unsigned i = 2; i < 8; ++i) args.push_back(build.arg(i));  // b, h, the tile's four bounds
  add_uniforms(host, build, build.arg(0), args);
  for (std::size_t j = 0; j < classes.summaries.size(); ++j) {
    llvm::Value* row = ir.CreateLoad(build.ptr(), build.at(build.arg(1), j * sizeof(void*)));
    llvm::Value* index = build.arg(classes.summaries[j].of_query ? 8 : 9);
    llvm::Value* pair = build.at(row, ir.CreateMul(index, build.i64(sizeof(SummaryPair))));
    args.push_back(ir.CreateLoad(i32, build.at(pair, offsetof(SummaryPair, lo))));
    args.push_back(ir.CreateLoad(i32, build.at(pair, offsetof(SummaryPair, hi))));
  }
  llvm::CallInst* call = ir.CreateCall(classes.function, args);
  ir.CreateRet(call);
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
        call = ir.CreateCall(summary.function, args);
        return {ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, sofar[0], call),
                ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, sofar[1], call)};
      },
      true);
  ir.CreateStore(extrema[0], build.at(build.arg(5), offsetof(SummaryPair, lo)));
  ir.CreateStore(extrema[1], build.at(build.arg(5), offsetof(SummaryPair, hi)));
  ir.CreateRetVoid();
  inline_call(host, build, call);
}

void emit_shapes(const HostModule& host, const TileClasses& classes) {
  static_assert(offsetof(SummaryShape, of_query) == 0 && offsetof(SummaryShape, of_batch) == 1 &&
                offsetof(SummaryShape, of_head) == 2 && sizeof(SummaryShape) == 3);
  std::vector<std::uint8_t> bytes;
  for (const Summary& summary : classes.summaries)
    for (const bool flag : {summary.of_query, summary.depends_on_b, summary.depends_on_h})
      bytes.push_back(flag ? 1 : 0);
  llvm::Constant* value = llvm::ConstantDataArray::get(host.context(), bytes);
  new llvm::GlobalVariable(host.module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                           kHostShapesSymbol);
}

}  // namespace

void emit_classes(const HostModule& host, const TileClasses& classes) {
  if (classes.function == nullptr) return;
  emit_class(host, classes);
  for (std::size_t j = 0; j < classes.summaries.size(); ++j) emit_summary(host, classes.summaries[j], j);
  if (!classes.summaries.empty()) emit_shapes(host, classes);
}

}  // namespace fa
