// The two matrix products as register-blocked micro-kernels. Both keep a block of the result in registers,
// broadcast one operand and load vectors of the other: 24 FMAs for 11 (10) loads with 32 registers.
#include "compiler/emit/host_parts.h"

namespace fa {

llvm::Function* emit_qk(const HostModule& host) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* index = llvm::Type::getInt64Ty(context);
  llvm::Function* function =
      host.function("qk", llvm::Type::getVoidTy(context), {pointer, pointer, index, index, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *q = build.arg(0), *k = build.arg(1), *stride = build.arg(2), *rows = build.arg(3),
              *s = build.arg(4);
  llvm::Value* last = ir.CreateSub(rows, build.i64(1));
  const int down = shape.qk_rows, across = shape.panel_vecs;

  build.loop(build.i64(0), rows, build.i64(down), [&](llvm::Value* first) {
    // Rows past the last read the last again: no second micro-kernel for the tail, nothing read out of place.
    HostBuilder::Values k_rows;
    for (int r = 0; r < down; ++r) {
      llvm::Value* row = build.min_i64(ir.CreateAdd(first, build.i64(r)), last);
      k_rows.push_back(build.float_at(k, ir.CreateMul(row, stride)));
    }
    const HostBuilder::Values zeros(static_cast<std::size_t>(down * across),
                                    llvm::ConstantAggregateZero::get(build.vec(build.f32())));
    auto step = [&](llvm::Value* d, const HostBuilder::Values& sums) {
      HostBuilder::Values next, columns;
      llvm::Value* q_row = build.float_at(q, ir.CreateMul(d, build.i64(shape.panel)));
      for (int c = 0; c < across; ++c)
        columns.push_back(build.load_vec(build.float_at(q_row, build.i64(c * shape.lanes))));
      for (int r = 0; r < down; ++r) {
        llvm::Value* element =
            build.splat(ir.CreateLoad(build.f32(), build.float_at(k_rows[static_cast<std::size_t>(r)], d)));
        for (int c = 0; c < across; ++c)
          next.push_back(ir.CreateIntrinsic(llvm::Intrinsic::fmuladd, {build.vec(build.f32())},
                                            {element, columns[static_cast<std::size_t>(c)],
                                             sums[static_cast<std::size_t>(r * across + c)]}));
      }
      return next;
    };
    const HostBuilder::Values sums =
        build.loop(build.i64(0), build.i64(shape.head_dim), build.i64(1), zeros, step, true);
    for (int r = 0; r < down; ++r) {
      llvm::Value* row =
          build.float_at(s, ir.CreateMul(ir.CreateAdd(first, build.i64(r)), build.i64(shape.panel)));
      for (int c = 0; c < across; ++c)
        build.store_vec(sums[static_cast<std::size_t>(r * across + c)],
                        build.float_at(row, build.i64(c * shape.lanes)));
    }
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_pv(const HostModule& host, int vecs) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* index = llvm::Type::getInt64Ty(context);
  llvm::Function* function =
      host.function(("pv" + std::to_string(vecs)).c_str(), llvm::Type::getVoidTy(context),
                    {pointer, pointer, index, index, pointer, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *p = build.arg(0), *v = build.arg(1), *stride = build.arg(2), *rows = build.arg(3),
              *o = build.arg(4), *rescale = build.arg(5);
  const int down = shape.pv_rows;

  build.loop(build.i64(0), build.i64(shape.panel), build.i64(down), [&](llvm::Value* first) {
    auto o_at = [&](int r, int c) {
      llvm::Value* row = ir.CreateMul(ir.CreateAdd(first, build.i64(r)), build.i64(shape.dv_padded));
      return build.float_at(o, ir.CreateAdd(row, build.i64(c * shape.lanes)));
    };
    HostBuilder::Values start;
    for (int r = 0; r < down; ++r) {
      llvm::Value* factor =
          build.splat(ir.CreateLoad(build.f32(), build.float_at(rescale, ir.CreateAdd(first, build.i64(r)))));
      for (int c = 0; c < vecs; ++c) start.push_back(ir.CreateFMul(factor, build.load_vec(o_at(r, c))));
    }
    llvm::Value* p_column = build.float_at(p, first);
    auto step = [&](llvm::Value* kv, const HostBuilder::Values& sums) {
      HostBuilder::Values next, columns;
      llvm::Value* v_row = build.float_at(v, ir.CreateMul(kv, stride));
      llvm::Value* p_row = build.float_at(p_column, ir.CreateMul(kv, build.i64(shape.panel)));
      for (int c = 0; c < vecs; ++c)
        columns.push_back(build.load_vec(build.float_at(v_row, build.i64(c * shape.lanes))));
      for (int r = 0; r < down; ++r) {
        llvm::Value* element = build.splat(ir.CreateLoad(build.f32(), build.float_at(p_row, build.i64(r))));
        for (int c = 0; c < vecs; ++c)
          next.push_back(ir.CreateIntrinsic(
              llvm::Intrinsic::fmuladd, {build.vec(build.f32())},
              {element, columns[static_cast<std::size_t>(c)], sums[static_cast<std::size_t>(r * vecs + c)]}));
      }
      return next;
    };
    const HostBuilder::Values sums = build.loop(build.i64(0), rows, build.i64(1), start, step, true);
    for (int r = 0; r < down; ++r)
      for (int c = 0; c < vecs; ++c)
        build.store_vec(sums[static_cast<std::size_t>(r * vecs + c)], o_at(r, c));
  });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
