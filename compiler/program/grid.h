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

/// ForwardParams::entry_shift for so many heads, of q or of kv as the pass's blocks are: their number up to a power of two.
int entry_shift_of(int heads);

/// Whether heads of several batch entries may take turns at a tile: 2^head_shift numbers of heads then do. Of other grids
/// 2^head_shift divides the heads of a batch entry.
bool turns_cross_entries(Grid grid);

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
