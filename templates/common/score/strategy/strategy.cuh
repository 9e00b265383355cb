// How a tile's scores become logits: one strategy a kernel, which the generated hooks name (`using
// Score`, compiler/emit/cuda/strategy.h decides). Each is a struct of its own file, which overrides what
// it does otherwise than this one. `Tile` is a ScoreElements (common/score/score_elements.cuh).
#pragma once

#include "common/score/hooks.cuh"
#include "common/tiles/tile_walk.cuh"
#include "params.h"

namespace fa {

/// Finished logits in base 2 from what the hooks say of each row and column.
struct ScoreStrategy {
  // Scores stay raw until their exponentials, where the scale comes in.
  static constexpr bool kIsRaw = false;
  // `apply` asks for the values of the head, or of the rows, in every tile: cheap ones are found before it.
  static constexpr bool kAsksHead = true;
  static constexpr bool kAsksRows = true;
  static constexpr bool kHasShift = false;   // `apply` may return a number that all logits of the tile gain
  static constexpr bool kIsLinear = false;   // common/score/strategy/linear.cuh
  static constexpr bool kIsProduct = false;  // common/score/strategy/product.cuh
  // `apply` leaves a kernel no registers to trust references (common/row_references.cuh).
  static constexpr bool kFillsRegisters = false;
};

}  // namespace fa
