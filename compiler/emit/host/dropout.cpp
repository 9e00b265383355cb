// Dropout of a panel's probabilities: templates/common/philox.h as vector IR, the same bits on every device.
// One Philox call of a row serves eight kv rows of a run of 32; here its lanes are query rows.
#include "compiler/emit/host/parts.h"

#include <array>

#include "templates/common/philox.h"

namespace fa {
namespace {

/// Four counter words, each lane of 64 bits holding one in its low half; what lies above is ignored.
using Words = std::array<llvm::Value*, 4>;

Words philox(HostBuilder& build, Words counter, llvm::Value* key0, llvm::Value* key1) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Type* wide = build.vec(build.i64());
  llvm::Value* low_half = llvm::ConstantInt::get(wide, 0xffffffffu);
  auto product = [&](llvm::Value* x, std::uint64_t factor) {
    return ir.CreateMul(ir.CreateAnd(x, low_half), llvm::ConstantInt::get(wide, factor));
  };
  for (int round = 0; round < kPhiloxRounds; ++round) {
    llvm::Value* first = product(counter[0], 0xD2511F53u);
    llvm::Value* second = product(counter[2], 0xCD9E8D57u);
    counter = {ir.CreateXor(ir.CreateXor(ir.CreateLShr(second, 32), counter[1]), build.splat(key0)), second,
               ir.CreateXor(ir.CreateXor(ir.CreateLShr(first, 32), counter[3]), build.splat(key1)), first};
    key0 = ir.CreateAdd(key0, build.i64(0x9E3779B9));
    key1 = ir.CreateAdd(key1, build.i64(0xBB67AE85));
  }
  return counter;
}

}  // namespace

llvm::Function* emit_dropout(const HostModule& host) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i32 = llvm::Type::getInt32Ty(context);
  llvm::Function* function = host.function("dropout", llvm::Type::getVoidTy(context),
                                           DropoutArgs<llvm::Type*>{.params = pointer,
                                                                    .probabilities = pointer,
                                                                    .b = i32,
                                                                    .h = i32,
                                                                    .first_q = i32,
                                                                    .first_kv = i32,
                                                                    .rows = i32});
  const auto args = arguments_of<DropoutArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *params = args.params, *p = args.probabilities, *first_q = args.first_q,
              *first_kv = args.first_kv, *rows = args.rows;
  llvm::Value* heads = build.param(params, i32, offsetof(ForwardParams, call.num_q_heads));
  llvm::Value* head = ir.CreateAdd(ir.CreateMul(args.b, heads), args.h);
  llvm::Value* seed = build.param(params, build.i64(), offsetof(ForwardParams, call.seed));
  llvm::Value* key0 = ir.CreateAnd(seed, build.i64(0xffffffff));
  llvm::Value* key1 = ir.CreateLShr(seed, 32);
  llvm::Value* threshold =
      build.splat(build.param(params, i32, offsetof(ForwardParams, call.drop_threshold)));
  llvm::Value* zero = build.splat(build.f32(0));
  llvm::Type* wide = build.vec(build.i64());

  llvm::Value* first_run = ir.CreateLShr(first_kv, 5);
  llvm::Value* end_run = ir.CreateLShr(ir.CreateAdd(ir.CreateAdd(first_kv, rows), build.i32(31)), 5);
  llvm::Value* first_call = ir.CreateShl(first_run, 2);
  build.loop(first_call, ir.CreateShl(end_run, 2), build.i32(1), [&](llvm::Value* call) {
    // call = run * 4 + pair; its word w has kv rows run * 32 + 8 w + 2 pair and the next.
    llvm::Value* run = ir.CreateShl(ir.CreateLShr(call, 2), 5);
    llvm::Value* pair = ir.CreateShl(ir.CreateAnd(call, build.i32(3)), 1);
    llvm::Value* base = ir.CreateSub(ir.CreateAdd(run, pair), first_kv);
    build.loop(build.i32(0), build.i32(shape.panel), build.i32(shape.lanes), [&](llvm::Value* lane) {
      llvm::Value* q_rows = ir.CreateAdd(build.splat(ir.CreateAdd(first_q, lane)), build.lane_ids());
      const Words words = philox(build,
                                 {ir.CreateZExt(q_rows, wide), build.splat(ir.CreateZExt(call, build.i64())),
                                  build.splat(ir.CreateZExt(head, build.i64())), build.splat(build.i64(0))},
                                 key0, key1);
      for (int word = 0; word < 4; ++word) {
        llvm::Value* both = ir.CreateTrunc(words[static_cast<std::size_t>(word)], build.vec(i32));
        for (int half = 0; half < 2; ++half) {
          llvm::Value* row = ir.CreateAdd(base, build.i32(8 * word + half));
          build.if_then(ir.CreateICmpULT(row, rows), [&] {
            llvm::Value* bits = half ? ir.CreateLShr(both, 16) : ir.CreateAnd(both, 0xffff);
            llvm::Value* index = ir.CreateAdd(ir.CreateMul(row, build.i32(shape.panel)), lane);
            llvm::Value* place = build.float_at(p, ir.CreateZExt(index, build.i64()));
            llvm::Value* kept = ir.CreateICmpUGE(bits, threshold);
            build.store_vec(ir.CreateSelect(kept, build.load_vec(place), zero), place);
          });
        }
      }
    });
  });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
