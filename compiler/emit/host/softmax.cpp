// The mask and the online softmax of one panel against some kv rows. Lanes are query rows, the loop runs down
// the kv rows, so maxima and sums stay in registers and nothing crosses lanes.
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/vector/math.h"
#include "compiler/emit/host/vector/widen.h"
#include "compiler/ir/math/constants.h"

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

Wide base2_logits(const HostModule& host, HostBuilder& build, HookInliner& hooks, const Wide& score,
                  llvm::Value* kv_idx) {
  llvm::IRBuilder<>& ir = build.ir();
  const Logits& logits = host.facts.logits;
  Wide logit = score;
  if (logits.general) {
    const Wide value = hooks.call(*logits.general, score, kv_idx);
    for (std::size_t part = 0; part < logit.parts.size(); ++part)
      logit.parts[part] = hooks.vector(value, part);
    return logit;
  }
  const Wide multiplier = hooks.call(*logits.multiplier, score, kv_idx);
  const Wide addend = hooks.call(*logits.addend, score, kv_idx);
  for (std::size_t part = 0; part < logit.parts.size(); ++part)
    logit.parts[part] =
        ir.CreateIntrinsic(llvm::Intrinsic::fmuladd, {build.vec(build.f32())},
                           {hooks.vector(multiplier, part), score.parts[part], hooks.vector(addend, part)});
  if (logits.row_addend != nullptr) {
    const Wide of_row = hooks.call(*logits.row_addend, score, kv_idx);
    for (std::size_t part = 0; part < logit.parts.size(); ++part)
      logit.parts[part] = ir.CreateFAdd(logit.parts[part], hooks.vector(of_row, part));
  }
  return logit;
}

llvm::Function* emit_softmax(const HostModule& host, bool masked) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i32 = llvm::Type::getInt32Ty(context);
  llvm::Function* function =
      host.function(masked ? "softmax_masked" : "softmax", llvm::Type::getVoidTy(context),
                    SoftmaxArgs<llvm::Type*>{.params = pointer,
                                             .scores = pointer,
                                             .keep = pointer,
                                             .row_max = pointer,
                                             .row_sum = pointer,
                                             .rescale = pointer,
                                             .b = i32,
                                             .h = i32,
                                             .first_q = i32,
                                             .first_kv = i32,
                                             .rows = i32});
  const auto args = arguments_of<SoftmaxArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  HostMath math(ir, host.cpu);
  llvm::Value *params = args.params, *s = args.scores, *keep = args.keep, *row_max = args.row_max,
              *row_sum = args.row_sum, *rescale = args.rescale, *first_kv = args.first_kv;
  const Wide q_rows = panel_rows(build, host, params, args.first_q);
  llvm::Value* rows = ir.CreateSExt(args.rows, build.i64());
  // Without a score_mod the scale is one positive factor: the first pass looks for the maximum of the raw
  // scores and the second multiplies, inside the subtraction of the maximum.
  const bool plain = is_plain(host.facts.logits);
  llvm::Value* scale_log2 =
      build.splat(build.param(params, build.f32(), offsetof(ForwardParams, call.scale_log2)));
  llvm::Value* minus_inf = build.splat(build.f32(-kInf));

  auto part_at = [&](llvm::Value* base, int part) {
    return build.float_at(base, build.i64(part * shape.lanes));
  };
  auto s_at = [&](llvm::Value* row, int part) {
    llvm::Value* index = ir.CreateMul(row, build.i64(shape.panel));
    return build.float_at(s, ir.CreateAdd(index, build.i64(part * shape.lanes)));
  };
  HostBuilder::Values old_max, seen;
  for (int part = 0; part < shape.panel_vecs; ++part) {
    old_max.push_back(build.load_vec(part_at(row_max, part)));
    seen.push_back(plain ? minus_inf : old_max.back());
  }

  llvm::BasicBlock* ahead = ir.GetInsertBlock();
  HostBuilder::Values maxima = build.loop(
      build.i64(0), rows, build.i64(1), seen,
      [&](llvm::Value* row, const HostBuilder::Values& sofar) {
        Wide score{.parts = {}, .uniform = false};
        for (int part = 0; part < shape.panel_vecs; ++part)
          score.parts.push_back(build.load_vec(s_at(row, part)));
        Wide logit = score;
        if (!plain) {
          llvm::IRBuilder<> before(ahead->getTerminator());
          HookInliner hooks(host, build, before, params, args.b, args.h, q_rows);
          logit = base2_logits(host, build, hooks, score,
                               ir.CreateAdd(first_kv, ir.CreateTrunc(row, build.i32())));
        }
        HostBuilder::Values next;
        for (int part = 0; part < shape.panel_vecs; ++part) {
          llvm::Value*& value = logit.parts[static_cast<std::size_t>(part)];
          if (masked) value = ir.CreateSelect(load_keep(build, host, keep, row, part), value, minus_inf);
          if (masked || !plain) build.store_vec(value, s_at(row, part));
          next.push_back(build.larger(value, sofar[static_cast<std::size_t>(part)]));
        }
        return next;
      },
      true);

  // A row that has seen nothing keeps -inf as its maximum and subtracts 0 instead: exp2(-inf) is 0, never
  // NaN.
  HostBuilder::Values shift, before;
  for (int part = 0; part < shape.panel_vecs; ++part) {
    const auto at = static_cast<std::size_t>(part);
    if (plain) maxima[at] = build.larger(ir.CreateFMul(maxima[at], scale_log2), old_max[at]);
    build.store_vec(maxima[at], part_at(row_max, part));
    shift.push_back(
        ir.CreateSelect(ir.CreateFCmpOEQ(maxima[at], minus_inf), build.splat(build.f32(0)), maxima[at]));
    llvm::Value* factor = math.exp2_nonpositive(ir.CreateFSub(old_max[at], shift[at]));
    build.store_vec(factor, part_at(rescale, part));
    before.push_back(ir.CreateFMul(factor, build.load_vec(part_at(row_sum, part))));
  }
  // The tile's sum apart: a chain of additions over all keys would round as often as there are keys.
  const HostBuilder::Values sums = build.loop(
      build.i64(0), rows, build.i64(1), HostBuilder::Values(before.size(), build.splat(build.f32(0))),
      [&](llvm::Value* row, const HostBuilder::Values& sofar) {
        HostBuilder::Values next;
        for (int part = 0; part < shape.panel_vecs; ++part) {
          const auto at = static_cast<std::size_t>(part);
          llvm::Value* value = build.load_vec(s_at(row, part));
          value = plain ? ir.CreateIntrinsic(llvm::Intrinsic::fmuladd, {value->getType()},
                                             {value, scale_log2, ir.CreateFNeg(shift[at])})
                        : ir.CreateFSub(value, shift[at]);
          llvm::Value* prob = math.exp2_nonpositive(value);
          build.store_vec(prob, s_at(row, part));
          next.push_back(ir.CreateFAdd(sofar[at], prob));
        }
        return next;
      },
      true);
  for (int part = 0; part < shape.panel_vecs; ++part)
    build.store_vec(
        ir.CreateFAdd(before[static_cast<std::size_t>(part)], sums[static_cast<std::size_t>(part)]),
        part_at(row_sum, part));
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
