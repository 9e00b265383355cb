// Element by element, of one panel against some kv rows: the probabilities from the scores and lse, and the
// gradient by the scores from that by the probabilities. Lanes are query rows, as in the forward pass.
#include "compiler/emit/host/backward/captured.h"
#include "compiler/emit/host/backward/parts.h"
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/vector/math.h"

#include <limits>

namespace fa {

llvm::Function* emit_elements(const BackwardModule& backward, bool masked) {
  const HostModule& host = backward.host;
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  llvm::Function* function =
      host.function(masked ? "elements_masked" : "elements", llvm::Type::getVoidTy(host.context()),
                    ElementsArgs<llvm::Type*>{.params = pointer,
                                              .item = pointer,
                                              .scores = pointer,
                                              .d_probs = pointer,
                                              .kept_scale = pointer,
                                              .keep = pointer,
                                              .shift = pointer,
                                              .shift_rest = pointer,
                                              .d_sum = pointer,
                                              .b = i32,
                                              .h = i32,
                                              .first_q = i32,
                                              .first_kv = i32,
                                              .rows = i32});
  const auto args = arguments_of<ElementsArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  HostMath math(ir, host.cpu);
  const Wide q_rows = panel_rows(build, host, args.params, args.first_q);
  llvm::Value* rows = ir.CreateSExt(args.rows, build.i64());
  llvm::Value* zero = build.splat(build.f32(0));
  llvm::Value* minus_inf = build.splat(build.f32(-std::numeric_limits<double>::infinity()));
  llvm::Value* scale =
      build.splat(build.param(args.params, build.f32(), offsetof(ForwardParams, call.scale)));
  llvm::Value* scale_log2 =
      build.splat(build.param(args.params, build.f32(), offsetof(ForwardParams, call.scale_log2)));
  const HookDerivatives& derivatives = backward.derivatives.score_mod;
  const bool plain = is_plain(host.facts.logits);
  CapturedSums captured(backward, build, derivatives.adjoints, args.params, args.item, args.first_q);

  const auto parts = static_cast<std::size_t>(shape.panel_vecs);
  auto lane_of = [&](std::size_t part) { return build.i64(static_cast<std::int64_t>(part) * shape.lanes); };
  HostBuilder::Values shift, shift_rest, d_sum;
  for (std::size_t part = 0; part < parts; ++part) {
    shift.push_back(build.load_vec(build.float_at(args.shift, lane_of(part))));
    shift_rest.push_back(build.load_vec(build.float_at(args.shift_rest, lane_of(part))));
    d_sum.push_back(build.load_vec(build.float_at(args.d_sum, lane_of(part))));
  }

  const HostBuilder::Values first_sums = captured.start(args.first_kv, rows);
  llvm::BasicBlock* ahead = ir.GetInsertBlock();
  const HostBuilder::Values sums = build.loop(
      build.i64(0), rows, build.i64(1), first_sums,
      [&](llvm::Value* row, const HostBuilder::Values& so_far) {
        llvm::IRBuilder<> before(ahead->getTerminator());
        before.setFastMathFlags(ir.getFastMathFlags());
        HookInliner hooks(host, build, before, args.params, args.b, args.h, q_rows);
        llvm::Value* kv_idx = ir.CreateAdd(args.first_kv, ir.CreateTrunc(row, i32));
        llvm::Value* first = ir.CreateMul(row, build.i64(shape.panel));
        auto at = [&](llvm::Value* base, std::size_t part) {
          return build.float_at(base, ir.CreateAdd(first, lane_of(part)));
        };
        Wide raw{.parts = {}, .uniform = false}, score{.parts = {}, .uniform = false};
        for (std::size_t part = 0; part < parts; ++part) {
          raw.parts.push_back(build.load_vec(at(args.scores, part)));
          score.parts.push_back(ir.CreateFMul(raw.parts[part], scale));
        }
        const Wide logit = plain ? raw : base2_logits(host, build, hooks, raw, kv_idx);
        HostBuilder::Values d_logits;
        for (std::size_t part = 0; part < parts; ++part) {
          llvm::Value* exponent =
              plain ? ir.CreateIntrinsic(llvm::Intrinsic::fmuladd, {raw.parts[part]->getType()},
                                         {raw.parts[part], scale_log2, ir.CreateFNeg(shift[part])})
                    : ir.CreateFSub(logit.parts[part], shift[part]);
          exponent = ir.CreateFSub(exponent, shift_rest[part]);
          if (masked)
            exponent = ir.CreateSelect(load_keep(build, host, args.keep, row, static_cast<int>(part)),
                                       exponent, minus_inf);
          llvm::Value* prob = math.exp2_nonpositive(exponent);
          llvm::Value* d_prob = build.load_vec(at(args.d_probs, part));
          llvm::Value* weight = prob;
          if (host.spec.has_dropout) {
            // What is dropped gives nothing, whatever V holds.
            llvm::Value* factor = build.load_vec(at(args.kept_scale, part));
            llvm::Value* dropped = ir.CreateFCmpOEQ(factor, zero);
            weight = ir.CreateFMul(prob, factor);
            d_prob = ir.CreateSelect(dropped, zero, ir.CreateFMul(d_prob, factor));
          }
          build.store_vec(weight, at(args.scores, part));
          llvm::Value* d_logit = ir.CreateFMul(prob, ir.CreateFSub(d_prob, d_sum[part]));
          d_logits.push_back(ir.CreateSelect(ir.CreateFCmpOEQ(prob, zero), zero, d_logit));
        }
        // A gradient of 0 stays 0, whatever the derivative is there.
        HostBuilder::Values d_scores = d_logits;
        const Derived& by_score = derivatives.score;
        if (by_score.number() != 1.0) {
          const Wide factor = by_score.function != nullptr ? hooks.call(*by_score.function, score, kv_idx)
                                                           : Wide::scalar(build.f32(*by_score.number()));
          for (std::size_t part = 0; part < parts; ++part)
            d_scores[part] = ir.CreateSelect(ir.CreateFCmpOEQ(d_logits[part], zero), zero,
                                             ir.CreateFMul(d_logits[part], hooks.vector(factor, part)));
        }
        for (std::size_t part = 0; part < parts; ++part)
          build.store_vec(d_scores[part], at(args.d_probs, part));
        return captured.add(hooks, score, kv_idx, d_logits, so_far);
      },
      true);

  if (!derivatives.adjoints.empty()) {
    llvm::BasicBlock* after = build.block("after_sums");
    llvm::BasicBlock* last = ir.GetInsertBlock();
    ir.CreateBr(after);
    ir.SetInsertPoint(after);
    llvm::IRBuilder<> before(last->getTerminator());
    HookInliner hooks(host, build, before, args.params, args.b, args.h, q_rows);
    captured.finish(hooks, args.params, args.b, args.h, sums);
  }
  ir.CreateRetVoid();
  captured.inline_calls();
  return function;
}

}  // namespace fa
