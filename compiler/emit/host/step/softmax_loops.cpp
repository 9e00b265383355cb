#include "compiler/emit/host/step/softmax_loops.h"

#include <cstddef>

#include "compiler/emit/host/products/amx.h"
#include "compiler/emit/host/products/pairs.h"
#include "compiler/emit/host/vector/widen.h"
#include "compiler/ir/math/constants.h"

namespace fa {
namespace {

// AMX's unit falls asleep a thousand cycles after its last product, and the next one then waits for as long. Half as many
// cycles are the softmax of this many kv rows of a panel.
constexpr int kRowsAwake = 64;

}  // namespace

SoftmaxLoops::SoftmaxLoops(const HostModule& host, HostBuilder& build, llvm::Value* params,
                           llvm::Value* scores, llvm::Value* rows)
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

SoftmaxLoops::Values SoftmaxLoops::load(llvm::Value* base) const {
  Values values;
  for (int part = 0; part < parts(); ++part) values.push_back(build_.load_vec(part_at(base, part)));
  return values;
}

llvm::Value* SoftmaxLoops::s_at(llvm::Value* row, int part) const {
  llvm::Value* index = ir_.CreateMul(row, build_.i64(shape_.panel));
  return build_.float_at(scores_, ir_.CreateAdd(index, build_.i64(part * shape_.lanes)));
}

void SoftmaxLoops::end_by_pair() {
  build_.if_then(ir_.CreateTrunc(rows_, ir_.getInt1Ty()), [&] {
    for (int part = 0; part < parts(); ++part) build_.store_vec(minus_inf_, s_at(rows_, part));
  });
}

SoftmaxLoops::Values SoftmaxLoops::raw_maxima() {
  end_by_pair();
  const auto count = static_cast<std::size_t>(parts());
  Values found = build_.loop(
      build_.i64(0), rows_, build_.i64(2), Values(2 * count, minus_inf_),
      [&](llvm::Value* row, const Values& sofar) {
        Values next;
        for (const int after : {0, 1})
          for (int part = 0; part < parts(); ++part)
            next.push_back(build_.larger(build_.load_vec(s_at(ir_.CreateAdd(row, build_.i64(after)), part)),
                                         sofar[next.size()]));
        return next;
      },
      true);
  for (std::size_t part = 0; part < count; ++part)
    found[part] = build_.larger(found[part], found[count + part]);
  found.resize(count);
  return found;
}

SoftmaxLoops::Values SoftmaxLoops::maxima(const LogitsArgs<llvm::Value*>& args, const Wide& q_rows,
                                          bool masked, const Values& old_max) {
  // Without a score_mod the scale is one positive factor: this loop looks for the maximum of the raw
  // scores and the other multiplies, inside the subtraction of the maximum.
  const Values seen = plain_ ? Values(old_max.size(), minus_inf_) : old_max;
  llvm::BasicBlock* ahead = ir_.GetInsertBlock();
  Values found;
  if (plain_ && !masked)
    found = raw_maxima();
  else
    found = build_.loop(
        build_.i64(0), rows_, build_.i64(1), seen,
        [&](llvm::Value* row, const Values& sofar) {
          Wide score{.parts = {}, .uniform = false};
          for (int part = 0; part < parts(); ++part) score.parts.push_back(build_.load_vec(s_at(row, part)));
          Wide logit = score;
          if (!plain_) {
            llvm::IRBuilder<> before(ahead->getTerminator());
            HookInliner hooks(host_, build_, before, args.params, args.b, args.h, q_rows);
            logit = base2_logits(host_, build_, hooks, score,
                                 ir_.CreateAdd(args.first_kv, ir_.CreateTrunc(row, build_.i32())));
          }
          Values next;
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

llvm::Value* SoftmaxLoops::shift(llvm::Value* maximum) const {
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(maximum, minus_inf_), build_.splat(build_.f32(0)), maximum);
}

llvm::Value* SoftmaxLoops::probability(llvm::Value* score, llvm::Value* shift) {
  llvm::Value* exponent = plain_ ? ir_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {score->getType()},
                                                       {score, scale_log2_, ir_.CreateFNeg(shift)})
                                 : ir_.CreateFSub(score, shift);
  return shape_.numbers == 2 ? math_.exp2_in_16_bits(exponent) : math_.exp2_nonpositive(exponent);
}

SoftmaxLoops::Values SoftmaxLoops::probabilities(const Values& shifts) {
  return build_.loop(
      build_.i64(0), rows_, build_.i64(1), Values(shifts.size(), build_.splat(build_.f32(0))),
      [&](llvm::Value* row, const Values& sofar) {
        Values next;
        for (int part = 0; part < parts(); ++part) {
          const auto at = static_cast<std::size_t>(part);
          llvm::Value* prob = probability(build_.load_vec(s_at(row, part)), shifts[at]);
          build_.store_vec(prob, s_at(row, part));
          next.push_back(ir_.CreateFAdd(sofar[at], prob));
        }
        return next;
      },
      true);
}

SoftmaxLoops::Values SoftmaxLoops::probability_pairs(const Values& shifts) {
  end_by_pair();
  auto some_rows = [&](llvm::Value* first, llvm::Value* end, const Values& sums) {
    return build_.loop(
        first, end, build_.i64(2), sums,
        [&](llvm::Value* row, const Values& sofar) {
          llvm::Value* neighbour = ir_.CreateAdd(row, build_.i64(1));
          Values next;
          for (int part = 0; part < parts(); ++part) {
            const auto at = static_cast<std::size_t>(part);
            llvm::Value* low = probability(build_.load_vec(s_at(row, part)), shifts[at]);
            llvm::Value* high = probability(build_.load_vec(s_at(neighbour, part)), shifts[at]);
            // Over a score of this pair of rows or of one before it, which no one reads again.
            ir_.CreateAlignedStore(rounded_pair(build_, low, high), s_at(ir_.CreateLShr(row, 1), part),
                                   llvm::Align(64));
            next.push_back(ir_.CreateFAdd(ir_.CreateFAdd(sofar[at], low), high));
          }
          return next;
        },
        true);
  };
  const Values none(shifts.size(), build_.splat(build_.f32(0)));
  if (shape_.product != HostProduct::tiles) return some_rows(build_.i64(0), rows_, none);
  return build_.loop(
      build_.i64(0), rows_, build_.i64(kRowsAwake), none,
      [&](llvm::Value* first, const Values& sums) {
        stay_awake(build_);
        return some_rows(first, build_.min_i64(ir_.CreateAdd(first, build_.i64(kRowsAwake)), rows_), sums);
      },
      true);
}

}  // namespace fa
