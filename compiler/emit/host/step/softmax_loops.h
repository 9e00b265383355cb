// The loops of a softmax down the kv rows of a panel, in the body of one function: the fused kernel's softmax has both in turn,
// a baseline has a pass for each. Included by .cpp files after compiler/ir/llvm.h.
#pragma once

#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/vector/math.h"

namespace fa {

class SoftmaxLoops {
 public:
  using Values = HostBuilder::Values;

  /// Of `rows` (i64) kv rows, whose scores are [rows][panel] floats from `scores` on. An odd last row may have its
  /// neighbour's place overwritten.
  SoftmaxLoops(const HostModule& host, HostBuilder& build, llvm::Value* params, llvm::Value* scores,
               llvm::Value* rows);

  int parts() const { return shape_.panel_vecs; }
  llvm::Value* part_at(llvm::Value* base, int part) const {
    return build_.float_at(base, build_.i64(part * shape_.lanes));
  }
  Values load(llvm::Value* base) const;

  /// From scores to logits in place, where they are not plain or some are masked, and the rows' maxima beside `old_max`.
  Values maxima(const LogitsArgs<llvm::Value*>& args, const Wide& q_rows, bool masked, const Values& old_max);

  /// What is subtracted from a row's logits. A row that has seen nothing keeps -inf as its maximum and subtracts 0
  /// instead: exp2(-inf) is 0, never NaN.
  llvm::Value* shift(llvm::Value* maximum) const;
  llvm::Value* exp2(llvm::Value* value) { return math_.exp2_nonpositive(value); }

  /// From logits to probabilities in place. The sums are of these rows alone: a chain of additions over all keys would
  /// round as often as there are keys.
  Values probabilities(const Values& shifts);
  /// The same, rounded to bf16 as pairs of neighbouring rows, [rows / 2][panel] words from `scores` on; a last row that has no
  /// neighbour is beside 0.
  Values probability_pairs(const Values& shifts);

 private:
  /// The largest raw scores, two rows at a time: an instruction's result takes four cycles, a row's maxima of a few vectors one.
  Values raw_maxima();
  /// Scores of -inf in the row after an odd last one.
  void end_by_pair();
  /// The probability of a raw score where logits are plain, else of a logit.
  llvm::Value* probability(llvm::Value* score, llvm::Value* shift);
  llvm::Value* s_at(llvm::Value* row, int part) const;

  const HostModule& host_;
  const HostShape& shape_;
  HostBuilder& build_;
  llvm::IRBuilder<>& ir_;
  HostMath math_;
  llvm::Value *scores_, *rows_;
  bool plain_;
  llvm::Value *scale_log2_, *minus_inf_;
};

}  // namespace fa
