// Rewrites of score_mod into what kernels evaluate: is it affine in the score, and where do log2(e) and the
// scale cost least. Internal to compiler/analysis.
//
// The rewrites reassociate products (and sums of scaled terms), so results differ from the spec's text by a
// few ulp, as any reordering of the same products would. They introduce no NaN or infinity that the text
// would not give, except where a divisor is so small (below 2^-126) that its reciprocal overflows. They do
// not multiply an exact integer difference apart: kv_idx - q_idx stays one subtraction.
#pragma once

#include <optional>
#include <unordered_map>

#include "compiler/analysis/dependence.h"

namespace llvm {
class Function;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace fa {

/// value = multiplier * score + addend; both are free of the score.
struct Affine {
  llvm::Value* multiplier = nullptr;
  llvm::Value* addend = nullptr;
};

/// Finds the affine form of a value in `score`, built at the builder's place through + - * / negation and
/// `where` with a condition free of the score. A `where` with the score in only one arm is not affine: with a
/// multiplier of 0 in the other arm an infinite score would turn into NaN.
class AffineForm {
 public:
  AffineForm(llvm::Value* score, Dependence& dependence, llvm::IRBuilderBase& builder)
      : score_(score), dependence_(dependence), builder_(builder) {}

  std::optional<Affine> of(llvm::Value* value);

 private:
  std::optional<Affine> find(llvm::Value* value);
  bool is_free(const llvm::Value* value);

  llvm::Value* score_;
  Dependence& dependence_;
  llvm::IRBuilderBase& builder_;
  std::unordered_map<llvm::Value*, std::optional<Affine>> known_;  // a shared part has one form
};

/// value * factor, with the product formed where it costs least: inside `value`, on a part that is known once
/// a call, a row or a column. `factor` is positive.
llvm::Value* times(llvm::Value* value, llvm::Value* factor, Dependence& dependence,
                   llvm::IRBuilderBase& builder);

/// Makes x / y into x * (1 / y) where y is known earlier than x, so that the element multiplies; not where
/// the quotient decides something (compiler/ir/decisions.h).
void multiply_by_reciprocals(llvm::Function& function, Dependence& dependence);

/// Turns score_mod(score) into score_mod(scale * s): every use of the argument `score` is scaled, through its
/// other factor where there is one that costs less.
void scale_uses(llvm::Function& function, llvm::Value* score, llvm::Value* scale, Dependence& dependence);

bool is_zero(const llvm::Value* value);
bool is_one(const llvm::Value* value);

}  // namespace fa
