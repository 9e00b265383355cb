// Masks over tables as people write them, by kind, each with tables drawn at random: what tile classes are
// held to (table_masks.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tools/problem/problem.h"

namespace fa::test {

/// Draws tables for one problem.
class Tables {
 public:
  Tables(std::mt19937& generator, const ProblemSize& problem) : random(generator), size(problem) {}

  int pick(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  int between(int least, int most) { return least + pick(most - least + 1); }

  /// `rows` x `length` numbers that stay the same for `least` to `most` indices, then are drawn anew by
  /// `draw(number of the run)`.
  std::vector<double> runs(int rows, int length, int least, int most, const std::function<double(int)>& draw);
  /// `rows` x `length` times that rise by 0 to 2 a step, and now and then by hundreds.
  std::vector<double> times(int rows, int length);
  /// `count` numbers, each drawn alone.
  std::vector<double> each(int count, const std::function<double(int)>& draw);
  /// Where a sequence of `length` is cut into `rows` lists of `pieces` pieces: pieces + 1 places that rise.
  std::vector<double> cuts(int rows, int pieces, int length);

  std::mt19937& random;
  const ProblemSize size;
};

struct TableMask {
  const char* name;
  const char* text;  // without the spec's head
  /// The tensors' numbers, in the order of their declarations.
  std::function<std::vector<std::vector<double>>(Tables&)> draw;
};

struct TableMaskKind {
  const char* name;
  double most_missed;  // the share of partial tiles that may really be empty or full
  std::vector<TableMask> masks;
};

const std::vector<TableMaskKind>& table_masks();

/// The mask on tables drawn for it, as a spec of f32 and head_dim 16.
tools::Problem problem_of(const TableMask& mask, const ProblemSize& size, std::mt19937& random);

}  // namespace fa::test
