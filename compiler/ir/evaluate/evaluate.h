// Evaluates a hook from a file as it is written there: instruction by instruction, with its loops, calls and
// local variables; floats in fp64, and once more in f32 for decisions. Tests compare the importer with it, so
// the two share no code but the reading of the file.
//
// Where C and Rust leave a result open it follows docs/spec_language.md: x / 0 is 0, shifts count modulo 32,
// floats out of an integer's range saturate, and a read outside a tensor is moved inside: the outermost index
// is clamped, the others stay as they are.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/import/import.h"

namespace fa {

/// The values of the names that a hook uses.
struct HookData {
  std::array<std::int32_t, 18> builtins{};  // by Builtin; the element's own are the evaluator's arguments
  std::span<const Scalar> params;
  std::vector<std::vector<std::int64_t>> shapes;                 // of each tensor
  std::function<double(int tensor, std::int64_t element)> read;  // element counts in memory order
};

class HookEvaluator {
 public:
  /// Throws SpecError where the file holds no hook.
  HookEvaluator(const CheckedSpec& spec, HookKind kind, HookData data);
  ~HookEvaluator();
  HookEvaluator(HookEvaluator&&) noexcept;

  /// Returns the modified score; for a mask, 1 where it keeps the key and 0 where it does not. Only a
  /// score_mod uses `score`. Throws Error on an instruction that only a refused hook may hold, or after a
  /// million steps.
  double evaluate(double score, double score_error, int b, int h, int q_idx, int kv_idx);
  /// How far a kernel's modified score may be from the last one returned, if its scores are within
  /// `score_error` of ours.
  double error() const;
  /// Whether that error could turn a decision of the last call.
  bool is_doubtful() const;
  /// Whether the result of the last call depends on an undefined value, so that the file leaves it open.
  bool is_undefined() const;
  /// How many reads so far lay outside their tensor.
  std::int64_t reads_outside() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fa
