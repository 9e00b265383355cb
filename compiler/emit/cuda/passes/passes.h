// What each pass of a kernel adds to the translation unit, and how it is launched. A pass is one file of this
// folder and one line of print_passes (compiler/emit/cuda/source.cpp), which puts them in order.
#pragma once

#include <string>

#include "compiler/analysis/score_class.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/program/pass.h"
#include "compiler/schedule/plan.h"

namespace fa {

struct PrintedPass {
  Pass pass;
  std::string include;  // a header under templates/ beside the family's forward.cuh; empty without
  std::string text;     // the entry, and static_asserts that hold the device's numbers to those of `pass`
};

/// Fills the tile map `classes` asks for; `classes.map` is there.
PrintedPass print_tile_map_pass(const TileClasses& classes, const ScoreClass& score_class, const Plan& plan);

/// Attention itself. `overlaps`: it may start before the pass before it has ended.
PrintedPass print_forward_pass(const Plan& plan, int shared_memory, bool overlaps);

}  // namespace fa
