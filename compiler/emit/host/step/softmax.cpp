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

namespace {

/// The two loops of a softmax down the kv rows of a panel, in the body of one function.
class SoftmaxLoops {
 public:
  SoftmaxLoops(const HostModule& host, HostBuilder& build, llvm::Value* params, llvm::Value* scores,
               llvm::Value* rows)
      : host_(host),
        shape_(host.shape),
        build_(build),
        ir_(build.ir()),
        math_(ir_, host.cpu),
        scores_(scores),
        rows_(rows),
        plain_(is_plain(host.facts.logits)),
        scale_log2_(build.splat(build.param(params, build.f32(), offsetof(ForwardParams, call.scale_log2)))),
        minus_inf_(build.splat(build.f32(-kInf))) {}

  int parts() const { return shape_.panel_vecs; }
  llvm::Value* part_at(llvm::Value* base, int part) const {
    return build_.float_at(base, build_.i64(part * shape_.lanes));
  }
  HostBuilder::Values load(llvm::Value* base) const {
    HostBuilder::Values values;
    for (int part = 0; part < parts(); ++part) values.push_back(build_.load_vec(part_at(base, part)));
    return values;
  }

  /// From scores to logits in place, where they are not plain or some are masked, and the rows' maxima beside `old_max`.
  /// `args`: LogitsArgs, or all of its fields and more.
  template <class Args>
  HostBuilder::Values maxima(const Args& args, const Wide& q_rows, bool masked,
                             const HostBuilder::Values& old_max) {
    // Without a score_mod the scale is one positive factor: this loop looks for the maximum of the raw
    // scores and the other multiplies, inside the subtraction of the maximum.
    const HostBuilder::Values seen = plain_ ? HostBuilder::Values(old_max.size(), minus_inf_) : old_max;
    llvm::BasicBlock* ahead = ir_.GetInsertBlock();
    HostBuilder::Values found = build_.loop(
        build_.i64(0), rows_, build_.i64(1), seen,
        [&](llvm::Value* row, const HostBuilder::Values& sofar) {
          Wide score{.parts = {}, .uniform = false};
          for (int part = 0; part < parts(); ++part) score.parts.push_back(build_.load_vec(s_at(row, part)));
          Wide logit = score;
          if (!plain_) {
            llvm::IRBuilder<> before(ahead->getTerminator());
            HookInliner hooks(host_, build_, before, args.params, args.b, args.h, q_rows);
            logit = base2_logits(host_, build_, hooks, score,
                                 ir_.CreateAdd(args.first_kv, ir_.CreateTrunc(row, build_.i32())));
          }
          HostBuilder::Values next;
          for (int part = 0; part < parts(); ++part) {
            llvm::Value*& value = logit.parts[static_cast<std::size_t>(part)];
            if (masked)
              value = ir_.CreateSelect(load_keep(build_, host_, args.keep, row, part), value, minus_inf_);
            if (masked || !plain_) build_.store_vec(value, s_at(row, part));
            next.push_back(build_.larger(value, sofar[static_cast<std::size_t>(part)]));
          }
          return next;
        },
        true);
    for (std::size_t at = 0; plain_ && at < found.size(); ++at)
      found[at] = build_.larger(ir_.CreateFMul(found[at], scale_log2_), old_max[at]);
    return found;
  }

  /// What is subtracted from a row's logits. A row that has seen nothing keeps -inf as its maximum and subtracts 0
  /// instead: exp2(-inf) is 0, never NaN.
  llvm::Value* shift(llvm::Value* maximum) const {
    return ir_.CreateSelect(ir_.CreateFCmpOEQ(maximum, minus_inf_), build_.splat(build_.f32(0)), maximum);
  }
  llvm::Value* exp2(llvm::Value* value) { return math_.exp2_nonpositive(value); }

  /// From logits to probabilities in place. The sums are of these rows alone: a chain of additions over all keys would
  /// round as often as there are keys.
  HostBuilder::Values probabilities(const HostBuilder::Values& shifts) {
    return build_.loop(
        build_.i64(0), rows_, build_.i64(1), HostBuilder::Values(shifts.size(), build_.splat(build_.f32(0))),
        [&](llvm::Value* row, const HostBuilder::Values& sofar) {
          HostBuilder::Values next;
          for (int part = 0; part < parts(); ++part) {
            const auto at = static_cast<std::size_t>(part);
            llvm::Value* value = build_.load_vec(s_at(row, part));
            value = plain_ ? ir_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {value->getType()},
                                                 {value, scale_log2_, ir_.CreateFNeg(shifts[at])})
                           : ir_.CreateFSub(value, shifts[at]);
            llvm::Value* prob = exp2(value);
            build_.store_vec(prob, s_at(row, part));
            next.push_back(ir_.CreateFAdd(sofar[at], prob));
          }
          return next;
        },
        true);
  }

 private:
  llvm::Value* s_at(llvm::Value* row, int part) const {
    llvm::Value* index = ir_.CreateMul(row, build_.i64(shape_.panel));
    return build_.float_at(scores_, ir_.CreateAdd(index, build_.i64(part * shape_.lanes)));
  }

  const HostModule& host_;
  const HostShape& shape_;
  HostBuilder& build_;
  llvm::IRBuilder<>& ir_;
  HostMath math_;
  llvm::Value *scores_, *rows_;
  bool plain_;
  llvm::Value *scale_log2_, *minus_inf_;
};

}  // namespace

llvm::Function* emit_softmax(const HostModule& host, bool masked) {
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
  const Wide q_rows = panel_rows(build, host, args.params, args.first_q);
  SoftmaxLoops loops(host, build, args.params, args.scores, ir.CreateSExt(args.rows, build.i64()));
  const HostBuilder::Values old_max = loops.load(args.row_max);
  const HostBuilder::Values maxima = loops.maxima(args, q_rows, masked, old_max);
  HostBuilder::Values shift, before;
  for (int part = 0; part < loops.parts(); ++part) {
    const auto at = static_cast<std::size_t>(part);
    build.store_vec(maxima[at], loops.part_at(args.row_max, part));
    shift.push_back(loops.shift(maxima[at]));
    llvm::Value* factor = loops.exp2(ir.CreateFSub(old_max[at], shift[at]));
    build.store_vec(factor, loops.part_at(args.rescale, part));
    before.push_back(ir.CreateFMul(factor, build.load_vec(loops.part_at(args.row_sum, part))));
  }
  const HostBuilder::Values sums = loops.probabilities(shift);
  for (int part = 0; part < loops.parts(); ++part) {
    const auto at = static_cast<std::size_t>(part);
    build.store_vec(ir.CreateFAdd(before[at], sums[at]), loops.part_at(args.row_sum, part));
  }
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_logits(const HostModule& host, bool masked) {
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i32 = llvm::Type::getInt32Ty(context);
  llvm::Function* function = host.function("logits", llvm::Type::getVoidTy(context),
                                           LogitsArgs<llvm::Type*>{.params = pointer,
                                                                   .scores = pointer,
                                                                   .keep = pointer,
                                                                   .row_max = pointer,
                                                                   .b = i32,
                                                                   .h = i32,
                                                                   .first_q = i32,
                                                                   .first_kv = i32,
                                                                   .rows = i32});
  const auto args = arguments_of<LogitsArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  const Wide q_rows = panel_rows(build, host, args.params, args.first_q);
  SoftmaxLoops loops(host, build, args.params, args.scores, ir.CreateSExt(args.rows, build.i64()));
  const HostBuilder::Values maxima = loops.maxima(args, q_rows, masked, loops.load(args.row_max));
  for (int part = 0; part < loops.parts(); ++part)
    build.store_vec(maxima[static_cast<std::size_t>(part)], loops.part_at(args.row_max, part));
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_probabilities(const HostModule& host) {
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  llvm::Function* function =
      host.function("probabilities", llvm::Type::getVoidTy(context),
                    ProbabilitiesArgs<llvm::Type*>{.params = pointer,
                                                   .scores = pointer,
                                                   .row_max = pointer,
                                                   .row_sum = pointer,
                                                   .rows = llvm::Type::getInt32Ty(context)});
  const auto args = arguments_of<ProbabilitiesArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  SoftmaxLoops loops(host, build, args.params, args.scores, ir.CreateSExt(args.rows, build.i64()));
  HostBuilder::Values shift;
  for (llvm::Value* maximum : loops.load(args.row_max)) shift.push_back(loops.shift(maximum));
  const HostBuilder::Values before = loops.load(args.row_sum), sums = loops.probabilities(shift);
  for (int part = 0; part < loops.parts(); ++part) {
    const auto at = static_cast<std::size_t>(part);
    build.store_vec(ir.CreateFAdd(before[at], sums[at]), loops.part_at(args.row_sum, part));
  }
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
