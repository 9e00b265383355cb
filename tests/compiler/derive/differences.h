// Derivatives beside central differences, and their functions beside their expressions.
#pragma once

#include <cstdint>
#include <string>

#include "tests/compiler/derive/evaluate.h"

namespace fa::test {

struct ComparedDerivatives {
  int points = 0;     // where a difference was taken
  int kinks = 0;      // points left out, as a decision changes beside them
  int compared = 0;   // numbers
  std::string wrong;  // the first thing that is, or empty
};

/// At `points` random elements of the problem and scores within (low, high): the derivative by the score and
/// in a random direction of all params and tensors that are marked `grad`, against the hooks in double; every
/// derived function, run in f32 on this machine, against its expression in double.
ComparedDerivatives compare_derivatives(const tools::Problem& problem, int points, std::uint64_t seed,
                                        double low = -2, double high = 2);

/// The text with `grad` at every declaration of floats that a gradient reaches. `file` is where hooks from
/// files are looked for.
std::string mark_all(const std::string& text, const std::string& file);

}  // namespace fa::test
