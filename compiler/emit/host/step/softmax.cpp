// The online softmax of one panel against some kv rows. Lanes are query rows, the loop runs down the kv rows, so maxima and sums stay
// in registers and nothing crosses lanes.
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/step/softmax_loops.h"
#include "compiler/emit/host/vector/widen.h"

namespace fa {

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

// By how much a row's maximum may rise, in base 2, before what is summed up is counted from it: until then probabilities are up to
// 256, which bf16 rounds as it rounds those up to 1.
constexpr double kMostRise = 8;

llvm::Value* larger_anywhere(HostBuilder& build, const HostBuilder::Values& a, const HostBuilder::Values& b) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* some = nullptr;
  for (std::size_t at = 0; at < a.size(); ++at) {
    llvm::Value* lanes = ir.CreateFCmpOGT(a[at], b[at]);
    some = some ? ir.CreateOr(some, lanes) : lanes;
  }
  return ir.CreateOrReduce(some);
}

/// Of products that leave O where it is summed up: O and the sums of probabilities are counted from the new maxima, if one of
/// them has risen by much, else all go on from the old ones.
void rise(const HostModule& host, HostBuilder& build, const SoftmaxArgs<llvm::Value*>& args,
          SoftmaxLoops& loops, const HostBuilder::Values& old_max, const HostBuilder::Values& maxima) {
  llvm::IRBuilder<>& ir = build.ir();
  HostBuilder::Values most;
  for (llvm::Value* old : old_max) most.push_back(ir.CreateFAdd(old, build.splat(build.f32(kMostRise))));
  build.if_then(larger_anywhere(build, maxima, most), [&] {
    HostBuilder::Values factors;
    auto multiply = [&](llvm::Value* base, int part) {
      llvm::Value* place = loops.part_at(base, part);
      build.store_vec(ir.CreateFMul(factors[static_cast<std::size_t>(part)], build.load_vec(place)), place);
    };
    for (int part = 0; part < loops.parts(); ++part) {
      const auto at = static_cast<std::size_t>(part);
      build.store_vec(maxima[at], loops.part_at(args.row_max, part));
      factors.push_back(loops.exp2(ir.CreateFSub(old_max[at], loops.shift(maxima[at]))));
      multiply(args.row_sum, part);
    }
    build.loop(build.i64(0), build.i64(host.shape.o_columns), build.i64(1), [&](llvm::Value* column) {
      llvm::Value* base = build.float_at(args.o, ir.CreateMul(column, build.i64(host.shape.panel)));
      for (int part = 0; part < loops.parts(); ++part) multiply(base, part);
    });
  });
}

/// Of products that multiply O as they add to it: leaves each row's factor at `rescale`.
void rescale(HostBuilder& build, const SoftmaxArgs<llvm::Value*>& args, SoftmaxLoops& loops,
             const HostBuilder::Values& old_max, const HostBuilder::Values& maxima) {
  llvm::IRBuilder<>& ir = build.ir();
  for (int part = 0; part < loops.parts(); ++part) {
    const auto at = static_cast<std::size_t>(part);
    build.store_vec(maxima[at], loops.part_at(args.row_max, part));
    llvm::Value* factor = loops.exp2(ir.CreateFSub(old_max[at], loops.shift(maxima[at])));
    build.store_vec(factor, loops.part_at(args.rescale, part));
    llvm::Value* sum = loops.part_at(args.row_sum, part);
    build.store_vec(ir.CreateFMul(factor, build.load_vec(sum)), sum);
  }
}

/// The shift of each row and then what is summed up of it, of which `probabilities` returns the new part.
void add_sums(HostBuilder& build, SoftmaxLoops& loops, llvm::Value* row_max, llvm::Value* row_sum,
              const std::function<HostBuilder::Values(const HostBuilder::Values&)>& probabilities) {
  HostBuilder::Values shift;
  for (llvm::Value* maximum : loops.load(row_max)) shift.push_back(loops.shift(maximum));
  const HostBuilder::Values before = loops.load(row_sum), sums = probabilities(shift);
  for (int part = 0; part < loops.parts(); ++part) {
    const auto at = static_cast<std::size_t>(part);
    build.store_vec(build.ir().CreateFAdd(before[at], sums[at]), loops.part_at(row_sum, part));
  }
}

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
                                             .o = pointer,
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
  const HostBuilder::Values maxima = loops.maxima({.params = args.params,
                                                   .scores = args.scores,
                                                   .keep = args.keep,
                                                   .row_max = args.row_max,
                                                   .b = args.b,
                                                   .h = args.h,
                                                   .first_q = args.first_q,
                                                   .first_kv = args.first_kv,
                                                   .rows = args.rows},
                                                  q_rows, masked, old_max);
  if (host.shape.product == HostProduct::tiles)
    rise(host, build, args, loops, old_max, maxima);
  else
    rescale(build, args, loops, old_max, maxima);
  add_sums(build, loops, args.row_max, args.row_sum, [&](const HostBuilder::Values& shifts) {
    return pairs_probabilities(host) ? loops.probability_pairs(shifts) : loops.probabilities(shifts);
  });
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
  add_sums(build, loops, args.row_max, args.row_sum,
           [&](const HostBuilder::Values& shifts) { return loops.probabilities(shifts); });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
