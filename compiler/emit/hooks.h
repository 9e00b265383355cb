// Prints a spec's hooks as the `struct Hooks` that kernels are instantiated with (templates/common/hooks.cuh
// is the contract), split into head, row, column and element work by what each value depends on.
#pragma once

#include <string>

#include "compiler/analysis/facts.h"

namespace fa {

/// The text of `struct Hooks` and of the functions of the spec that it calls, in namespace fa; it needs
/// common/hooks.cuh and print_exact_functions' text (exact.h) before it and nothing else.
std::string print_hooks(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts);

/// An argument that is the same for the whole call, as device code reads it from `p`.
std::string print_uniform(const HookArg& arg);
/// All of them, each behind a comma.
std::string print_uniforms(const std::vector<HookArg>& args);

}  // namespace fa
