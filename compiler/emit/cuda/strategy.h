// Which strategy of templates/common/score/strategy/ a kernel's scores take.
#pragma once

#include <string_view>

namespace fa {

/// What the choice depends on, of hooks as they are printed.
struct ScoreTraits {
  bool is_general = false;      // score_mod does more than multiply and add
  bool is_affine = false;       // it multiplies or adds
  bool is_linear = false;       // the addend grows by one number from key to key
  bool is_by_diagonal = false;  // the addend is asked once a diagonal
  bool is_product = false;      // the addend is a constant times something
  bool has_class = false;       // the walk says in which tiles the addend is one number
};

/// The struct's name.
constexpr std::string_view score_strategy(const ScoreTraits& of) {
  if (of.is_general) return "GeneralScores";
  if (of.is_linear) return "LinearScores";
  if (of.has_class) return of.is_by_diagonal ? "ShiftedByDiagonal" : "ShiftedScores";
  if (of.is_product) return "ProductScores";
  if (of.is_by_diagonal) return "ScoresByDiagonal";
  return of.is_affine ? "AffineScores" : "RawScores";
}

}  // namespace fa
