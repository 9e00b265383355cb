// Evaluates a hook from a file as the file wrote it: instruction by instruction, loops, calls, local
// variables and all, floats in fp64, and once more in f32 for what they decide. The second opinion on
// importing: it reads the same text and shares nothing else with it.
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

/// What the names of a hook stand for.
struct HookData {
  std::array<std::int32_t, 18> builtins{};  // by Builtin; the element's own are the evaluator's arguments
  std::span<const Scalar> params;
  std::vector<std::vector<std::int64_t>> shapes;                 // of each tensor
  std::function<double(int tensor, std::int64_t element)> read;  // element counts in memory order
};

class HookEvaluator {
 public:
  /// Throws SpecError where the file is no hook.
  HookEvaluator(const CheckedSpec& spec, HookKind kind, HookData data);
  ~HookEvaluator();
  HookEvaluator(HookEvaluator&&) noexcept;

  /// The modified score, or 1 where the mask keeps the key and 0 where it does not. `score` is a score_mod's
  /// only. Throws Error on an instruction that only a refused hook may hold, or after a million steps.
  double evaluate(double score, double score_error, int b, int h, int q_idx, int kv_idx);
  /// Of the last score: how far a kernel's may be away, whose own scores are within `score_error`.
  double error() const;
  /// Whether that error could turn a decision of the last call.
  bool is_doubtful() const;
  /// Whether the file leaves open what the last call computes: it hangs on an undefined value.
  bool is_undefined() const;
  /// How many reads so far lay outside their tensor.
  std::int64_t reads_outside() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fa
