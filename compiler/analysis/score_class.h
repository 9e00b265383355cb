// Tiles in which score_mod adds one and the same number to every score, proved by abstract interpretation of
// the addend: a clamped relative position far from the diagonal, a table read at one index. Such a tile needs
// no hook: the number goes into the reference of its exponentials.
//
//   i32 @score_class(i32 %b, i32 %h, i32 %q_lo, i32 %q_hi, i32 %kv_lo, i32 %kv_hi, <uniforms>)
//
// gives 1 (plain: the addend is the same all over the tile) or 0 (not proved). <uniforms> and bounds as for
// @tile_class (tile_class.h).
#pragma once

#include "compiler/analysis/facts.h"
#include "compiler/analysis/tiles/tile_class.h"

namespace fa {

struct ScoreClass {
  IrModule module;
  const llvm::Function* function = nullptr;  // null: no tile is known to be plain
};

/// Derives the function, verified and simplified, where score_mod is the score plus something that depends on
/// both q_idx and kv_idx. No function where it is not, or where no tile that `classes` leave can be plain.
/// `scale` is the spec's: a tile's number is added in units of scaled scores, so it must be a positive,
/// ordinary number.
ScoreClass derive_score_class(const Facts& facts, const TileClasses& classes, double scale);

}  // namespace fa
