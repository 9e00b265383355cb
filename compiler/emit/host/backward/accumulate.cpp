// The products that add to dQ, dK and dV: a block of the result in registers, numbers of A broadcast, vectors
// of B.
#include "compiler/emit/host/backward/parts.h"

namespace fa {

llvm::Function* emit_accumulate(const BackwardModule& backward, const char* name, AccumulatedLeft left,
                                int vecs, int c_stride) {
  const HostModule& host = backward.host;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* index = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function = host.function(
      (name + std::to_string(vecs)).c_str(), llvm::Type::getVoidTy(host.context()),
      AccumulateArgs<llvm::Type*>{
          .a = pointer, .b = pointer, .stride = index, .c = pointer, .rows = index, .depth = index});
  const auto args = arguments_of<AccumulateArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  const int lanes = host.shape.lanes;

  auto block = [&](llvm::Value* first, int down) {
    auto c_at = [&](int r, int v) {
      llvm::Value* row = ir.CreateMul(ir.CreateAdd(first, build.i64(r)), build.i64(c_stride));
      return build.float_at(args.c, ir.CreateAdd(row, build.i64(v * lanes)));
    };
    // Summed apart from C, which many such products add to: a sum rounds less often in parts.
    const HostBuilder::Values start(static_cast<std::size_t>(down * vecs), build.splat(build.f32(0)));
    llvm::Value* a = build.float_at(args.a, ir.CreateMul(first, build.i64(left.row)));
    auto step = [&](llvm::Value* depth, const HostBuilder::Values& sums) {
      HostBuilder::Values next, columns;
      llvm::Value* b = build.float_at(args.b, ir.CreateMul(depth, args.stride));
      llvm::Value* column = build.float_at(a, ir.CreateMul(depth, build.i64(left.depth)));
      for (int v = 0; v < vecs; ++v)
        columns.push_back(build.load_vec(build.float_at(b, build.i64(v * lanes))));
      for (int r = 0; r < down; ++r) {
        llvm::Value* element =
            build.splat(ir.CreateLoad(build.f32(), build.float_at(column, build.i64(r * left.row))));
        for (int v = 0; v < vecs; ++v)
          next.push_back(ir.CreateIntrinsic(
              llvm::Intrinsic::fmuladd, {build.vec(build.f32())},
              {element, columns[static_cast<std::size_t>(v)], sums[static_cast<std::size_t>(r * vecs + v)]}));
      }
      return next;
    };
    const HostBuilder::Values sums = build.loop(build.i64(0), args.depth, build.i64(1), start, step, true);
    for (int r = 0; r < down; ++r)
      for (int v = 0; v < vecs; ++v)
        build.store_vec(
            ir.CreateFAdd(build.load_vec(c_at(r, v)), sums[static_cast<std::size_t>(r * vecs + v)]),
            c_at(r, v));
  };

  // Rows past the last belong to other tiles: what does not fill a block goes row by row.
  const int down = backward.shape.rows_down;
  llvm::Value* whole = ir.CreateAnd(args.rows, build.i64(-down));
  build.loop(build.i64(0), whole, build.i64(down), [&](llvm::Value* first) { block(first, down); });
  build.loop(whole, args.rows, build.i64(1), [&](llvm::Value* first) { block(first, 1); });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
