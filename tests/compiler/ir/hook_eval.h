// Evaluates the hooks of one problem, element by element: by the compiled IR and by the tools' interpreter,
// which shares no code with lowering.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "compiler/analysis/facts.h"
#include "runtime/host/hook_jit.h"
#include "tools/problem/problem.h"
#include "tools/reference/row_hooks.h"

namespace fa::test {

struct Element {
  int b = 0, h = 0, q = 0, kv = 0;
};

/// A small problem of the spec, its tensors filled by their examples or with seeded numbers.
tools::Problem small_problem(const Spec& spec, std::uint64_t seed, ProblemSize size);

/// The arguments hooks take for one element, in the order of HookSignature.
std::vector<Slot> hook_arguments(const tools::Problem& problem, float score, Element element);

/// Gives the declared functions of compiler/ir/functions.h a body, so that the module can run.
void define_functions(llvm::Module& module);
/// Takes `contract` away: no fused multiply-adds, so that results can be compared bit by bit.
void forbid_contraction(llvm::Module& module);

class HookEval {
 public:
  enum class Fuse { allowed, forbidden };
  HookEval(const tools::Problem& problem, Fuse fuse);

  float score_mod(float score, Element element) const;
  bool mask(Element element) const;
  /// What GPU kernels evaluate where the mask's rows list keys (compiler/analysis/listed_keys.h).
  bool mask_by_list(Element element) const;
  /// What kernels evaluate, on the raw dot product: base 2, with the scale.
  float logit(float s, Element element) const;

  /// {multiplier, addend, row addend} of the identity and affine forms, {logit, 0, 0} of the general one.
  std::array<float, 3> logit_parts(float s, Element element) const;

  const Facts& facts() const { return facts_; }

 private:
  Slot call(HookJit::Function function, float first, Element element) const;

  const tools::Problem& problem_;
  Facts facts_;
  std::unique_ptr<HookJit> jit_;
  HookJit::Function score_mod_ = nullptr, mask_ = nullptr, logit_ = nullptr, multiplier_ = nullptr,
                    addend_ = nullptr, row_addend_ = nullptr, listed_keys_ = nullptr, if_listed_ = nullptr,
                    if_not_ = nullptr;
};

/// The same by the interpreter; for hooks from LLVM IR by HookEvaluator.
class ReferenceEval {
 public:
  explicit ReferenceEval(const tools::Problem& problem);
  double score_mod(double score, Element element);
  bool mask(Element element);

 private:
  tools::Environment environment(Element element);

  const tools::Problem& problem_;
  std::optional<tools::Interpreter> score_mod_, mask_;
  std::optional<HookEvaluator> score_file_, mask_file_;
};

}  // namespace fa::test
