// Draws the tables that masks read: runs, times, cuts, at random from a seed.
#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <vector>

#include "compiler/schedule/plan.h"

namespace fa::test {

using Numbers = std::vector<double>;

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Draws tables for one problem.
class Tables {
 public:
  Tables(std::mt19937& generator, const ProblemSize& problem) : random(generator), size(problem) {}

  int pick(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  int between(int least, int most) { return least + pick(most - least + 1); }

  /// `rows` x `length` numbers in runs of `least` to `most` equal ones; `draw` returns the number of a run,
  /// from its index.
  Numbers runs(int rows, int length, int least, int most, const std::function<double(int)>& draw);
  /// `rows` x `length` times that rise by 0 to 2 a step, and now and then by hundreds.
  Numbers times(int rows, int length);
  /// `count` numbers, each drawn alone.
  Numbers each(int count, const std::function<double(int)>& draw);
  /// Where a sequence of `length` is cut into `rows` lists of `pieces` pieces: pieces + 1 places that rise.
  Numbers cuts(int rows, int pieces, int length);

  std::mt19937& random;
  const ProblemSize size;
};

}  // namespace fa::test
