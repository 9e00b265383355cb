// A spec's hooks along one row: score_mod, mask_mod and sink, by the interpreter or, for hooks from files, by
// HookEvaluator.
#pragma once

#include <optional>
#include <utility>

#include "compiler/ir/evaluate/evaluate.h"
#include "tools/reference/interpreter.h"
#include "tools/reference/reference.h"

namespace fa::tools {

/// What a hook from a file reads, from a problem's own numbers. The result points into `environment`'s
/// tensors.
HookData hook_data(const Environment& environment);

class RowHooks {
 public:
  RowHooks(const CheckedSpec& spec, const Environment& environment);

  /// `score_error`: how far a kernel's scores may be from the exact ones.
  void set_row(const RowId& row, double score_error = 0);

  /// Turns scores into logits, in place. `kept` says which elements the mask keeps; masked ones do not become
  /// -inf. `errors` is how far a kernel's logits may be from these, beyond the error of its scores.
  void apply(int first_kv, int lanes, double* scores, double* errors, bool* kept);

  /// The mask alone.
  void mask(int first_kv, int lanes, bool* kept);

  /// The sink's logit and how far a kernel's may be from it; -inf where the spec has no sink.
  std::pair<double, double> sink();

  /// The first doubtful element of the row so far.
  const std::optional<DoubtfulElement>& doubt() const { return doubt_; }

 private:
  void note(const std::optional<Doubt>& doubt, int kv_idx);
  void note_file(const HookEvaluator& hook, int kv_idx);
  double evaluate(HookEvaluator& hook, double score, int kv_idx);

  Environment environment_;
  std::optional<Interpreter> score_mod_, mask_mod_, sink_;
  std::optional<HookEvaluator> score_file_, mask_file_;  // hooks from files, as the files wrote them
  std::optional<DoubtfulElement> doubt_;
};

}  // namespace fa::tools
