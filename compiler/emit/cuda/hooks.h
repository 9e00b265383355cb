// Prints a spec's hooks as the `struct Hooks` that kernels are instantiated with
// (templates/common/score/hooks.cuh is the contract), split into head, row, column and element work by
// what each value depends on.
#pragma once

#include <string>

#include "compiler/analysis/facts.h"

namespace fa {

/// What a kernel has for reads that run a tile ahead (templates/common/score/staged_reads.cuh).
struct StagingRoom {
  int tile_q = 0;
  int tile_kv = 0;
  int bytes = 0;  // of shared memory, which the plan leaves
  bool has_async_copies = false;
  int buffers = 1;  // for tiles of a table, where there is place
};

struct PrintedHooks {
  // `struct Hooks` and the functions of the spec that it calls, in namespace fa; it needs
  // common/score/hooks.cuh and print_exact_functions' text (exact.h) before it and nothing else.
  std::string text;
  int staged_bytes = 0;  // of shared memory
};

/// d score_mod / d score, where it is not 1: a function of the raw score (compiler/analysis/raw_score.h), or a number.
struct ScoreDerivative {
  const llvm::Function* function = nullptr;
  double number = 0;  // where there is no function
};

/// `has_score_class`: the kernel's walk says in which tiles score_mod adds one number to all scores. `derivative`: of the hooks
/// of a backward pass.
PrintedHooks print_hooks(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                         const StagingRoom& room = {}, bool has_score_class = false,
                         const ScoreDerivative* derivative = nullptr);

/// A spec's sink as functions before `struct Hooks` and members of it.
struct PrintedSink {
  std::string functions, members;
};
/// `sink` is null where there is none; then both are empty.
PrintedSink print_sink(const llvm::Function* sink, const HookSignature& args, DType dtype);

/// An argument that is the same for all elements of a batch entry, as device code reads it from `p`. `b`
/// is the entry, as an expression.
std::string print_uniform(const HookArg& arg, std::string_view b);
/// All of them, each behind a comma.
std::string print_uniforms(const HookSignature& args, std::string_view b);

}  // namespace fa
