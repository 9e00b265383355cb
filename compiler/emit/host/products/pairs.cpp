#include "compiler/emit/host/products/pairs.h"

#include "compiler/emit/host/memory.h"

namespace fa {

llvm::Value* multiply_pairs(HostBuilder& build, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  llvm::IRBuilder<>& ir = build.ir();
  auto* pairs = llvm::FixedVectorType::get(ir.getBFloatTy(), 32);
  return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                            {c, ir.CreateBitCast(a, pairs), ir.CreateBitCast(b, pairs)});
}

llvm::Value* rounded_pair(HostBuilder& build, llvm::Value* low, llvm::Value* high) {
  llvm::IRBuilder<>& ir = build.ir();
  auto* halves = llvm::FixedVectorType::get(ir.getInt16Ty(), 32);
  auto rounded = [&](llvm::Value* value) {
    value = ir.CreateBitCast(value, vector_of_words(build));
    return ir.CreateBitCast(ir.CreateAdd(value, build.splat(build.i32(0x8000))), halves);
  };
  std::vector<int> upper;  // of a word of either in turn
  for (int word = 0; word < 16; ++word) upper.insert(upper.end(), {2 * word + 1, 32 + 2 * word + 1});
  llvm::Value* both = ir.CreateShuffleVector(rounded(low), rounded(high), upper);
  return ir.CreateBitCast(both, vector_of_words(build));
}

llvm::Function* emit_pack_p(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i64 = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      host.function("pack_p", llvm::Type::getVoidTy(host.context()), {pointer, i64, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  const int row_bytes = shape.panel * 4;
  build.loop(build.i64(0), build.arg(1), build.i64(2), [&](llvm::Value* row) {
    llvm::Value* from = build.at(build.arg(0), ir.CreateMul(row, build.i64(row_bytes)));
    llvm::Value* to = build.at(build.arg(2), ir.CreateMul(row, build.i64(row_bytes / 2)));
    for (int at = 0; at < row_bytes; at += 64) {
      llvm::Value* low = build.load_vec(build.at(from, static_cast<std::size_t>(at)));
      llvm::Value* high = build.load_vec(build.at(from, static_cast<std::size_t>(at + row_bytes)));
      ir.CreateAlignedStore(rounded_pair(build, low, high), build.at(to, static_cast<std::size_t>(at)),
                            llvm::Align(64));
    }
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_pair_rows(const HostModule& host, const char* name) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i64 = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      host.function(name, llvm::Type::getVoidTy(host.context()), {pointer, i64, i64, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *from = build.arg(0), *stride = build.arg(1), *rows = build.arg(2), *to = build.arg(3);
  auto pair = [&](llvm::Value* row, bool has_neighbour) {
    llvm::Value* low = build.at(from, ir.CreateMul(row, stride));
    llvm::Value* high = build.at(low, stride);
    llvm::Value* target = build.float_at(to, ir.CreateMul(ir.CreateLShr(row, 1), build.i64(shape.dv_padded)));
    for_each_chunk(shape.head_dim_v, shape.lanes, [&](int first, int count) {
      const auto shaped = [&](llvm::Type* type) {
        return llvm::FixedVectorType::get(type, static_cast<unsigned>(count));
      };
      auto load = [&](llvm::Value* at) {
        llvm::Value* place = build.at(at, static_cast<std::size_t>(first) * 2);
        return ir.CreateZExt(ir.CreateAlignedLoad(shaped(ir.getInt16Ty()), place, llvm::Align(2)),
                             shaped(build.i32()));
      };
      llvm::Value* both = load(low);
      if (has_neighbour) both = ir.CreateOr(both, ir.CreateShl(load(high), 16));
      ir.CreateAlignedStore(both, build.float_at(target, build.i64(first)), llvm::Align(4));
    });
    for (int at = shape.head_dim_v; at < shape.dv_padded; ++at)
      ir.CreateAlignedStore(build.i32(0), build.float_at(target, build.i64(at)), llvm::Align(4));
  };
  llvm::Value* whole = ir.CreateAnd(rows, build.i64(-2));
  build.loop(build.i64(0), whole, build.i64(2), [&](llvm::Value* row) { pair(row, true); });
  build.if_then(ir.CreateTrunc(rows, ir.getInt1Ty()), [&] { pair(whole, false); });
  ir.CreateRetVoid();
  return function;
}

void zero_rows(HostBuilder& build, const HostShape& shape, llvm::Value* rows, llvm::Value* begin,
               llvm::Value* end) {
  build.loop(begin, end, build.i64(1), [&](llvm::Value* row) {
    llvm::Value* at = build.float_at(rows, build.ir().CreateMul(row, build.i64(shape.panel)));
    for (int lane = 0; lane < shape.panel; lane += shape.lanes)
      build.store_vec(build.splat(build.f32(0)), build.float_at(at, build.i64(lane)));
  });
}

}  // namespace fa
