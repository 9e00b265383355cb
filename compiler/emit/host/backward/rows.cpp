// What each query row needs once: lse in base 2, D = rowsum(dO * O) - dlse, and of the sink its gradient.
#include "compiler/emit/host/backward/backward.h"
#include "compiler/emit/host/backward/captured.h"
#include "compiler/emit/host/backward/parts.h"
#include "compiler/emit/host/memory.h"
#include "compiler/emit/host/outline.h"
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/vector/math.h"
#include "compiler/ir/math/constants.h"

#include <numbers>

namespace fa {
namespace {

/// rowsum(dO * O) of one row, in double until the last rounding: an error of it goes to all of the row's gradients
/// alike. dO as floats in the workspace, O as the caller has it.
llvm::Value* product_sum(const HostModule& host, HostBuilder& build, llvm::Value* d_o, llvm::Value* o) {
  llvm::IRBuilder<>& ir = build.ir();
  const int bytes = dtype_bytes(host.spec.dtype);
  llvm::Value *total = nullptr, *vector = nullptr;
  auto wide = [&](llvm::Value* x) {
    return ir.CreateFPExt(x, x->getType()->getWithNewType(ir.getDoubleTy()));
  };
  llvm::Value* zero = llvm::ConstantFP::get(ir.getDoubleTy(), 0);
  auto added = [&](llvm::Value* x) {
    auto* sum = llvm::cast<llvm::Instruction>(ir.CreateFAddReduce(zero, x));
    sum->setHasAllowReassoc(true);  // as a tree; the same one in every run
    return sum;
  };
  for_each_chunk(host.spec.head_dim_v, host.shape.lanes, [&](int at, int count) {
    llvm::Value* product = ir.CreateFMul(
        wide(load_floats(build, DType::f32, build.float_at(d_o, build.i64(at)), count)),
        wide(load_floats(build, host.spec.dtype, build.at(o, static_cast<std::size_t>(at * bytes)), count)));
    if (count == host.shape.lanes) {
      vector = vector != nullptr ? ir.CreateFAdd(vector, product) : product;
      return;
    }
    if (count > 1) product = added(product);
    total = total != nullptr ? ir.CreateFAdd(total, product) : product;
  });
  if (vector != nullptr) total = total != nullptr ? ir.CreateFAdd(total, added(vector)) : added(vector);
  return ir.CreateFPTrunc(total, build.f32());
}

/// Each row gives p (0 - D) to the sink's logit, p being its probability.
void add_sink(const BackwardModule& backward, HostBuilder& build,
              const BackwardEntryArgs<llvm::Value*>& args) {
  const HostModule& host = backward.host;
  const HookDerivatives& derivatives = backward.derivatives.sink;
  if (derivatives.adjoints.empty()) return;
  llvm::IRBuilder<>& ir = build.ir();
  const HostShape& shape = host.shape;
  CapturedSums captured(backward, build, derivatives.adjoints, args.params, args.item, args.first_q);
  llvm::BasicBlock* ahead = ir.GetInsertBlock();
  llvm::BasicBlock* here = build.block("sink");
  ir.CreateBr(here);
  ir.SetInsertPoint(here);
  llvm::IRBuilder<> before(ahead->getTerminator());
  const Wide rows = panel_rows(build, host, args.params, args.first_q);
  HookInliner hooks(host, build, before, args.params, args.b, args.h, rows);
  const Wide sink =
      hooks.call(*host.hooks.sink, Wide::scalar(llvm::PoisonValue::get(build.f32())), build.i32(0));
  llvm::Value* logit = build.splat(ir.CreateFMul(sink.parts[0], build.f32(std::numbers::log2e)));
  llvm::Value* shift = build.at(args.workspace, backward.shape.shift);
  llvm::Value* d_sum = build.at(args.workspace, backward.shape.d_sum);
  const HostBuilder::Values sums =
      build.loop(build.i64(0), build.i64(shape.panels * shape.panel), build.i64(shape.lanes),
                 {build.splat(build.f32(0))},
                 [&](llvm::Value* row, const HostBuilder::Values& so_far) -> HostBuilder::Values {
                   llvm::Value* exponent = ir.CreateFSub(logit, build.load_vec(build.float_at(shift, row)));
                   llvm::Value* prob = HostMath(ir, host.cpu).exp2_nonpositive(exponent);
                   llvm::Value* zero = build.splat(build.f32(0));
                   llvm::Value* product = ir.CreateFMul(prob, build.load_vec(build.float_at(d_sum, row)));
                   product = ir.CreateSelect(ir.CreateFCmpOEQ(prob, zero), zero, product);
                   return {ir.CreateFSub(so_far[0], product)};
                 });
  auto* sum = llvm::cast<llvm::Instruction>(ir.CreateFAddReduce(build.f32(0), sums[0]));
  sum->setHasAllowReassoc(true);
  captured.add_scalar(hooks, ir.CreateFPExt(sum, ir.getDoubleTy()));
}

}  // namespace

llvm::Function* emit_row_sums(const BackwardModule& backward) {
  const HostModule& host = backward.host;
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  llvm::Function* function = host.function(
      "row_sums", llvm::Type::getVoidTy(host.context()),
      BackwardEntryArgs<llvm::Type*>{
          .params = pointer, .workspace = pointer, .item = pointer, .b = i32, .h = i32, .first_q = i32});
  const auto args = arguments_of<BackwardEntryArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *params = args.params, *workspace = args.workspace;
  llvm::Value* b = ir.CreateSExt(args.b, build.i64());
  llvm::Value* h = ir.CreateSExt(args.h, build.i64());
  auto number = [&](std::size_t offset) {
    return ir.CreateSExt(build.param(params, build.i32(), offset), build.i64());
  };
  llvm::Value* q_len = number(offsetof(ForwardParams, call.q_len));
  llvm::Value* first = ir.CreateSExt(args.first_q, build.i64());
  llvm::Value* rows = build.min_i64(ir.CreateSub(q_len, first), build.i64(shape.tile_q));
  llvm::Value* head = ir.CreateAdd(ir.CreateMul(b, number(offsetof(ForwardParams, call.num_q_heads))), h);
  llvm::Value* in_lse = ir.CreateAdd(ir.CreateMul(head, q_len), first);
  llvm::Value* lse = build.float_at(build.param(params, build.ptr(), offsetof(ForwardParams, lse)), in_lse);
  llvm::Value* d_lse = build.param(params, build.ptr(), offsetof(BackwardParams, d_lse));
  llvm::Value* has_d_lse = ir.CreateIsNotNull(d_lse);
  const int bytes = dtype_bytes(host.spec.dtype);
  const HeadView o =
      head_view(build, params, offsetof(ForwardParams, o), offsetof(ForwardParams, o_strides), bytes, b, h);
  llvm::Value* shift = build.at(workspace, backward.shape.shift);
  llvm::Value* shift_rest = build.at(workspace, backward.shape.shift_rest);
  llvm::Value* d_sum = build.at(workspace, backward.shape.d_sum);

  build.loop(build.i64(0), rows, build.i64(1), [&](llvm::Value* row) {
    llvm::Value* d_o = build.float_at(build.at(workspace, backward.shape.do_rows),
                                      ir.CreateMul(row, build.i64(backward.shape.dv_padded)));
    llvm::Value* place = ir.CreateMul(ir.CreateMul(ir.CreateAdd(first, row), o.row_stride), build.i64(bytes));
    llvm::Value* sum = product_sum(host, build, d_o, build.at(o.data, place));
    llvm::Value* to = build.float_at(d_sum, row);
    ir.CreateStore(sum, to);
    build.if_then(has_d_lse, [&] {
      llvm::Value* by_lse = ir.CreateLoad(build.f32(), build.float_at(build.float_at(d_lse, in_lse), row));
      ir.CreateStore(ir.CreateFSub(sum, by_lse), to);
    });
    llvm::Value* value = ir.CreateLoad(build.f32(), build.float_at(lse, row));
    llvm::Value* empty = ir.CreateFCmpOEQ(value, build.f32(-kInf));
    llvm::Value* base2 = ir.CreateFMul(ir.CreateFPExt(value, ir.getDoubleTy()),
                                       llvm::ConstantFP::get(ir.getDoubleTy(), std::numbers::log2e));
    llvm::Value* high = ir.CreateFPTrunc(base2, build.f32());
    llvm::Value* low =
        ir.CreateFPTrunc(ir.CreateFSub(base2, ir.CreateFPExt(high, ir.getDoubleTy())), build.f32());
    ir.CreateStore(ir.CreateSelect(empty, build.f32(kInf), high), build.float_at(shift, row));
    ir.CreateStore(ir.CreateSelect(empty, build.f32(0), low), build.float_at(shift_rest, row));
  });
  build.loop(rows, build.i64(shape.panels * shape.panel), build.i64(1), [&](llvm::Value* row) {
    ir.CreateStore(build.f32(kInf), build.float_at(shift, row));
    ir.CreateStore(build.f32(0), build.float_at(shift_rest, row));
    ir.CreateStore(build.f32(0), build.float_at(d_sum, row));
  });
  add_sink(backward, build, args);
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
