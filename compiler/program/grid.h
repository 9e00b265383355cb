// From a call's sizes to a pass's grid.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/program/pass.h"
#include "templates/params.h"

namespace fa {

/// Blocks of a launch in each direction.
struct Blocks {
  int x = 1, y = 1, z = 1;
};

/// Evaluates the rule of `pass.grid`. `params.head_shift` is set already.
Blocks blocks_of(const Pass& pass, const ForwardParams& params);

/// Whether the pass begins with the first tiles of all heads, which `params.head_shift` = kAllHeads asks for.
bool may_take_all_heads(const Pass& pass, const CallParams& call);

/// The rule's name in bundles: "q_tiles".
std::string_view grid_name(Grid grid);
std::optional<Grid> grid_named(std::string_view name);

/// Whether only programs of a backward pass have such grids.
bool is_of_backward(Grid grid);
/// Whether only programs of a baseline do.
bool is_of_baseline(Grid grid);
/// Whether its blocks work on kv tiles of kv heads.
bool is_of_keys(Grid grid);

}  // namespace fa
