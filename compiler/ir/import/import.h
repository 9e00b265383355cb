// Hooks from LLVM IR: `mask_mod from "doc.ll"`. The file's function becomes the typed expression that the
// same hook written in the spec would be, so that everything after it (proofs, clamps, facts, tile classes,
// every back end) knows one kind of hook. What a file may hold: docs/spec_language.md, "Hooks from LLVM IR".
//
//   read       text or bitcode -> LLVM module, with a fixed data layout          read.cpp
//   normalise  one straight function without loops, calls or memory of its own   normalise.cpp
//   translate  its instructions -> expressions                                   translate.cpp
//
// Imported hooks inherit the language's semantics where C and Rust leave a result open: `nsw` and `nuw` are
// forgotten (integers wrap around), x / 0 is 0, a shift counts modulo 32, `freeze` does nothing, and of a
// choice between a value and `undef` the value is taken.
#pragma once

#include <string>

#include "compiler/spec/spec.h"

namespace fa {

enum class HookKind { score_mod, mask_mod };

/// Returns the spec with every hook from a file as an expression (`score_mod`, `mask_mod`); the spec itself
/// where no hook is from a file. Throws SpecError, at the place that names the file, where it cannot be a
/// hook: the message names the function and the instruction, and says what to do.
CheckedSpec import_hooks(const CheckedSpec& spec);

/// The normalised function of a hook that comes from a file, as textual LLVM IR. Throws as import_hooks does.
std::string print_normalised(const CheckedSpec& spec, HookKind kind);

}  // namespace fa
