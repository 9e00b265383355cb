// Masks over tables as people write them, by kind, each with tables drawn at random. The test of tile classes
// (classes.cpp) compares each class with brute force.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "tests/compiler/analysis/table_masks/tables.h"
#include "tools/problem/problem.h"

namespace fa::test {

/// The numbers of each tensor of a mask.
using Drawn = std::vector<Numbers>;

struct TableMask {
  const char* name;
  const char* text;  // without the spec's head
  /// The tensors' numbers, in the order of their declarations.
  std::function<Drawn(Tables&)> draw;
};

struct TableMaskKind {
  const char* name;
  double most_missed;  // the share of partial tiles that may really be empty or full
  std::vector<TableMask> masks;
};

// One file each.
TableMaskKind masks_of_times();
TableMaskKind masks_of_ids();
TableMaskKind masks_of_intervals();
TableMaskKind masks_of_distances();
TableMaskKind masks_of_routed_blocks();
TableMaskKind masks_of_small_tables();

const std::vector<TableMaskKind>& table_masks();

/// The mask on tables drawn for it, as a spec of f32 and head_dim 16.
tools::Problem problem_of(const TableMask& mask, const ProblemSize& size, std::mt19937& random);

}  // namespace fa::test
