// The arguments of the host kernel's functions by name. Each struct is a function's list of arguments, in
// order. Of types (T = llvm::Type*) it is the signature; of values (T = llvm::Value*) it is what a call
// passes and what the function's body gets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "compiler/ir/llvm.h"

namespace fa {

/// A kernel's entries: one tile of query rows.
template <class T>
struct EntryArgs {
  T params, workspace, b, h, first_q;
};

/// The step's entry: against one kv tile.
template <class T>
struct StepArgs {
  T params, workspace, b, h, first_q, first_kv, full;
};

template <class T>
struct MaskArgs {
  T params, keep, b, h, first_q, first_kv, rows, spans;
};

template <class T>
struct SoftmaxArgs {
  T params, scores, keep, row_max, row_sum, rescale, o, b, h, first_q, first_kv, rows;
};

/// The softmax in two parts, of a baseline: up to the rows' maxima, and what is left once those are known.
template <class T>
struct LogitsArgs {
  T params, scores, keep, row_max, b, h, first_q, first_kv, rows;
};
template <class T>
struct ProbabilitiesArgs {
  T params, scores, row_max, row_sum, rows;
};

template <class T>
struct DropoutArgs {
  T params, probabilities, b, h, first_q, first_kv, rows;
};

/// S^T = K Q^T; `stride` is k's, in bytes: in bf16 it may be an odd number of halves of a word.
template <class T>
struct ScoresArgs {
  T q, k, stride, rows, scores, spans, low;
};

/// O = rescale * O + P^T V; `stride` is v's, in words.
template <class T>
struct OutputArgs {
  T probabilities, v, stride, rows, o, rescale, spans, low;
};

/// Stores `rows` (i64) rows of o and lse from `first_q` on; the others are their sums, maxima and sums of probabilities.
template <class T>
struct FinishArgs {
  T params, o, row_max, row_sum, b, h, first_q, rows;
};

/// All of them, in order.
template <template <class> class Args, class T>
  requires std::is_aggregate_v<Args<T>>
auto in_order(const Args<T>& args) {
  return std::bit_cast<std::array<T, sizeof(Args<T>) / sizeof(T)>>(args);
}

/// What the body of `function` gets.
template <template <class> class Args>
Args<llvm::Value*> arguments_of(llvm::Function& function) {
  std::array<llvm::Value*, sizeof(Args<llvm::Value*>) / sizeof(llvm::Value*)> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = function.getArg(static_cast<unsigned>(i));
  return std::bit_cast<Args<llvm::Value*>>(values);
}

template <template <class> class Args>
llvm::CallInst* call(llvm::IRBuilder<>& ir, llvm::Function* function, const Args<llvm::Value*>& args) {
  return ir.CreateCall(function, in_order(args));
}

}  // namespace fa
