// The device memory of one call that passes hand each other results in.
#pragma once

#include <cstddef>

#include "compiler/program/pass.h"
#include "templates/backward_params.h"
#include "templates/baseline_params.h"

namespace fa {

/// Bytes of workspace that a call needs: the sum of what its passes leave there.
std::size_t workspace_bytes(const Program& program, const CallParams& call);
/// The same of a backward pass; `params.elements` and `gradients` are set.
std::size_t workspace_bytes(const Program& program, const BackwardParams& params);

/// Sets the pointers of `params` to the parts of the workspace. It has `workspace_bytes` bytes, aligned to 16.
void place_workspace(const Program& program, void* workspace, ForwardParams& params);
/// The same of a baseline's program.
void place_workspace(const Program& program, void* workspace, BaselineParams& params);
/// The same as the program's pass `number` sees them: of several tile maps it takes the last before it.
void place_workspace(const Program& program, void* workspace, std::size_t number, BackwardParams& params);

}  // namespace fa
