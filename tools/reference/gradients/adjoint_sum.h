// One derivative of a hook by what it captures, in the fp64 reference of the backward pass.
#pragma once

#include <functional>
#include <vector>

#include "compiler/derive/derive.h"
#include "tools/reference/backward.h"
#include "tools/reference/gradients/errors.h"
#include "tools/reference/interpreter.h"

namespace fa::tools {

/// Adds one adjoint's share of a row's keys to the params' or the tensors' gradients.
class AdjointSum {
 public:
  /// `fast`: kernels may use the approximate functions of 16-bit data.
  AdjointSum(const Adjoint& adjoint, bool fast);

  /// `logits`: the gradients by the logits of `lanes` keys from `environment`'s kv_idx on, which may be off
  /// by `errors`; where `sums` is not null the errors that follow are added there, with `base` as
  /// TermError::times has it.
  void add(const Environment& environment, const double* logits, const TermError* errors, int lanes,
           double base, InputGradients& result, GradientErrors* sums);

  /// Whether correct targets may differ in a derivative since this was last asked.
  bool take_doubt();

 private:
  std::size_t at() const { return static_cast<std::size_t>(adjoint_.index); }
  /// Runs `body` for every iteration of the reductions around the read.
  void iterate(std::size_t depth, const Environment& environment, const std::function<void()>& body);

  const Adjoint& adjoint_;
  bool is_doubtful_ = false;
  Interpreter value_;
  std::vector<Interpreter> indices_;
};

}  // namespace fa::tools
