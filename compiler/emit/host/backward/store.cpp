// Between the sums in memory and the caller's dQ, dK and dV.
#include "compiler/emit/host/backward/backward.h"
#include "compiler/emit/host/backward/parts.h"
#include "compiler/emit/host/memory.h"
#include "compiler/emit/host/outline.h"

namespace fa {
namespace {

/// Stores a row of `width` numbers, each the sum of `row(column, count)`, times `factor`.
void store_row(const HostModule& host, HostBuilder& build, llvm::Value* to, int width, llvm::Value* factor,
               const std::function<llvm::Value*(int column, int count)>& row) {
  llvm::IRBuilder<>& ir = build.ir();
  const int bytes = dtype_bytes(host.spec.dtype);
  for_each_chunk(width, host.shape.lanes, [&](int at, int count) {
    llvm::Value* value = row(at, count);
    if (factor != nullptr)
      value = ir.CreateFMul(value,
                            count == 1 ? factor : ir.CreateVectorSplat(static_cast<unsigned>(count), factor));
    store_floats(build, host.spec.dtype, value, build.at(to, static_cast<std::size_t>(at * bytes)));
  });
}

}  // namespace

void emit_backward_finish(const BackwardModule& backward) {
  const HostModule& host = backward.host;
  HostBuilder build(host, entry<BackwardEntryArgs>(host, kHostBackwardFinishSymbol));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<BackwardEntryArgs>(*build.function());
  const int bytes = dtype_bytes(host.spec.dtype);
  const HeadView d_q =
      head_view(build, args.params, offsetof(BackwardParams, d_q), offsetof(BackwardParams, d_q_strides),
                bytes, ir.CreateSExt(args.b, build.i64()), ir.CreateSExt(args.h, build.i64()));
  llvm::Value* q_len =
      ir.CreateSExt(build.param(args.params, build.i32(), offsetof(ForwardParams, call.q_len)), build.i64());
  llvm::Value* first = ir.CreateSExt(args.first_q, build.i64());
  llvm::Value* rows = build.min_i64(ir.CreateSub(q_len, first), build.i64(host.shape.tile_q));
  llvm::Value* scale = build.param(args.params, build.f32(), offsetof(ForwardParams, call.scale));
  llvm::Value* row_bytes = ir.CreateMul(d_q.row_stride, build.i64(bytes));
  llvm::Value* to = build.at(d_q.data, ir.CreateMul(first, row_bytes));
  build.loop(build.i64(0), rows, build.i64(1), [&](llvm::Value* row) {
    llvm::Value* from = build.float_at(build.at(args.workspace, backward.shape.dq),
                                       ir.CreateMul(row, build.i64(backward.shape.d_padded)));
    store_row(host, build, build.at(to, ir.CreateMul(row, row_bytes)), host.spec.head_dim, scale,
              [&](int column, int count) {
                return load_floats(build, DType::f32, build.float_at(from, build.i64(column)), count);
              });
  });
  ir.CreateRetVoid();
}

void emit_backward_store(const BackwardModule& backward) {
  const HostModule& host = backward.host;
  HostBuilder build(host, entry<BackwardStoreArgs>(host, kHostBackwardStoreSymbol));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<BackwardStoreArgs>(*build.function());
  const int bytes = dtype_bytes(host.spec.dtype);
  llvm::Value* b = ir.CreateSExt(args.b, build.i64());
  llvm::Value* kv_h = ir.CreateSExt(args.kv_h, build.i64());
  llvm::Value* first = ir.CreateSExt(args.first_kv, build.i64());
  llvm::Value* scale = build.param(args.params, build.f32(), offsetof(ForwardParams, call.scale));
  const HeadView d_k = head_view(build, args.params, offsetof(BackwardParams, d_k),
                                 offsetof(BackwardParams, d_k_strides), bytes, b, kv_h);
  const HeadView d_v = head_view(build, args.params, offsetof(BackwardParams, d_v),
                                 offsetof(BackwardParams, d_v_strides), bytes, b, kv_h);
  auto store = [&](const HeadView& head, llvm::Value* items, llvm::Value* row, int width, int padded,
                   llvm::Value* factor) {
    llvm::Value* at = ir.CreateMul(ir.CreateMul(ir.CreateAdd(first, row), head.row_stride), build.i64(bytes));
    store_row(host, build, build.at(head.data, at), width, factor, [&](int column, int count) {
      llvm::Type* type = build.f32();
      if (count > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(count));
      llvm::Value* place = ir.CreateAdd(ir.CreateMul(row, build.i64(padded)), build.i64(column));
      const HostBuilder::Values sum =
          build.loop(build.i32(0), args.count, build.i32(1), {llvm::Constant::getNullValue(type)},
                     [&](llvm::Value* item, const HostBuilder::Values& so_far) -> HostBuilder::Values {
                       llvm::Value* from = ir.CreateLoad(build.ptr(), ir.CreateGEP(build.ptr(), items, item));
                       return {ir.CreateFAdd(
                           so_far[0], load_floats(build, DType::f32, build.float_at(from, place), count))};
                     });
      return sum[0];
    });
  };
  build.loop(build.i64(0), ir.CreateSExt(args.rows, build.i64()), build.i64(1), [&](llvm::Value* row) {
    store(d_k, args.d_k, row, host.spec.head_dim, backward.shape.d_padded, scale);
    store(d_v, args.d_v, row, host.spec.head_dim_v, backward.shape.dv_padded, nullptr);
  });
  ir.CreateRetVoid();
}

}  // namespace fa
