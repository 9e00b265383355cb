// What a call of some size needs beside its tensors.
#pragma once

#include <cstddef>

#include "compiler/program/pass.h"
#include "tools/problem/problem.h"

namespace fa::tools {

/// The workspace of a backward pass on a GPU, with the params' defaults.
std::size_t backward_workspace(const Spec& spec, const Program& program, const ProblemSize& size);

/// The workspace of a forward pass on a GPU.
std::size_t forward_workspace(const Program& program, const ProblemSize& size);

}  // namespace fa::tools
