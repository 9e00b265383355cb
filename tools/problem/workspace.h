// What a call of some size needs beside its tensors.
#pragma once

#include <cstddef>

#include "compiler/compile.h"
#include "compiler/program/pass.h"
#include "tools/problem/problem.h"

namespace fa::tools {

/// The workspace of a backward pass on a GPU, with the params' defaults.
std::size_t backward_workspace(const Spec& spec, const Program& program, const ProblemSize& size);

/// The workspace of a baseline's forward pass.
std::size_t baseline_workspace(const Spec& spec, const Compiled& compiled, const Target& target,
                               const ProblemSize& size);

}  // namespace fa::tools
