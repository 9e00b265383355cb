// Which lanes of a panel the mask keeps, kv row by kv row.
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/vector/widen.h"

namespace fa {
namespace {

/// A row's kept lanes as stored: 16 bits a vector.
llvm::Value* keep_at(HostBuilder& build, const HostModule& host, llvm::Value* keep, llvm::Value* row,
                     int part) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* index = ir.CreateMul(row, build.i64(host.shape.panel_vecs));
  return ir.CreateGEP(ir.getInt16Ty(), keep, ir.CreateAdd(index, build.i64(part)));
}

}  // namespace

llvm::Value* load_keep(HostBuilder& build, const HostModule& host, llvm::Value* keep, llvm::Value* row,
                       int part) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* bits = ir.CreateLoad(ir.getInt16Ty(), keep_at(build, host, keep, row, part));
  bits = ir.CreateTrunc(bits, ir.getIntNTy(static_cast<unsigned>(host.shape.lanes)));
  return ir.CreateBitCast(bits, build.vec(ir.getInt1Ty()));
}

Wide panel_rows(HostBuilder& build, const HostModule& host, llvm::Value* params, llvm::Value* first_q) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* q_len = build.param(params, build.i32(), offsetof(ForwardParams, call.q_len));
  llvm::Value* last = build.splat(ir.CreateSub(q_len, build.i32(1)));
  Wide rows{.parts = {}, .uniform = false};
  for (int part = 0; part < host.shape.panel_vecs; ++part) {
    llvm::Value* first = build.splat(ir.CreateAdd(first_q, build.i32(part * host.shape.lanes)));
    llvm::Value* row = ir.CreateAdd(first, build.lane_ids());
    rows.parts.push_back(ir.CreateIntrinsic(llvm::Intrinsic::smin, {row->getType()}, {row, last}));
  }
  return rows;
}

llvm::Function* emit_mask(const HostModule& host) {
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i32 = llvm::Type::getInt32Ty(context);
  llvm::Function* function = host.function("mask", llvm::Type::getInt64Ty(context),
                                           MaskArgs<llvm::Type*>{.params = pointer,
                                                                 .keep = pointer,
                                                                 .b = i32,
                                                                 .h = i32,
                                                                 .first_q = i32,
                                                                 .first_kv = i32,
                                                                 .rows = i32,
                                                                 .spans = pointer});
  const auto args = arguments_of<MaskArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *keep = args.keep, *first_kv = args.first_kv;
  const Wide q_rows = panel_rows(build, host, args.params, args.first_q);
  llvm::Value* rows = ir.CreateSExt(args.rows, build.i64());
  llvm::BasicBlock* ahead = ir.GetInsertBlock();

  HostBuilder::Values nothing;  // a first and an end for each vector
  for (int part = 0; part < host.shape.panel_vecs; ++part)
    nothing.insert(nothing.end(), {rows, build.i64(0)});
  const HostBuilder::Values spans = build.loop(
      build.i64(0), rows, build.i64(1), nothing,
      [&](llvm::Value* row, const HostBuilder::Values& found) -> HostBuilder::Values {
        llvm::IRBuilder<> before(ahead->getTerminator());
        HookInliner hooks(host, build, before, args.params, args.b, args.h, q_rows);
        llvm::Value* kv_idx = ir.CreateAdd(first_kv, ir.CreateTrunc(row, build.i32()));
        const Wide kept =
            hooks.call(*host.hooks.mask_mod, Wide::scalar(llvm::PoisonValue::get(build.f32())), kv_idx);
        llvm::Value* next_row = ir.CreateAdd(row, build.i64(1));
        HostBuilder::Values next;
        for (int part = 0; part < host.shape.panel_vecs; ++part) {
          llvm::Value* lanes = hooks.vector(kept, static_cast<std::size_t>(part));
          llvm::Value* bits = ir.CreateBitCast(lanes, ir.getIntNTy(static_cast<unsigned>(host.shape.lanes)));
          bits = ir.CreateZExt(bits, ir.getInt16Ty());
          ir.CreateStore(bits, keep_at(build, host, keep, row, part));
          llvm::Value* some = ir.CreateICmpNE(bits, ir.getInt16(0));
          const auto at = static_cast<std::size_t>(part) * 2;
          next.push_back(ir.CreateSelect(some, build.min_i64(found[at], row), found[at]));
          next.push_back(ir.CreateSelect(some, next_row, found[at + 1]));
        }
        return next;
      },
      true);
  llvm::Value *first = rows, *end = build.i64(0);
  for (std::size_t at = 0; at < spans.size(); at += 2) {
    first = build.min_i64(first, spans[at]);
    end = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, spans[at + 1]);
    ir.CreateStore(spans[at], build.at(args.spans, at * 8));
    ir.CreateStore(spans[at + 1], build.at(args.spans, at * 8 + 8));
  }
  llvm::Value* packed = ir.CreateOr(first, ir.CreateShl(end, 32));
  ir.CreateRet(ir.CreateSelect(ir.CreateICmpEQ(end, build.i64(0)), build.i64(0), packed));
  return function;
}

}  // namespace fa
