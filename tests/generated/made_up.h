// Specs made from a seed so that every form of score, kind of mask, function, type of table, rank, reduction,
// dtype and shape occurs together with every other. Shipped specs are examples; these give coverage.
#pragma once

#include <cstdint>
#include <string>

#include "fa/spec.h"
#include "tools/problem/problem.h"

namespace fa::test {

struct MadeUp {
  std::uint64_t number = 0;
  std::string features;  // the values of the factors, for messages
  std::string text;
  tools::ProblemInputs inputs;

  /// Hooks from files are those of tests/import/good.
  Spec spec() const;
  std::string print() const;  // the features, the sizes, the text
};

/// The spec of a number: the first few hundred cover all pairs, later ones meet the same pairs in other ways.
MadeUp made_up(std::uint64_t number);
/// How many it takes to cover all pairs.
std::uint64_t covering_count();

/// Which specs a test takes: FA_TEST_SPECS=COUNT or FIRST:COUNT of the environment, else `otherwise`.
struct Range {
  std::uint64_t first = 0, count = 0;
};
Range made_up_range(std::uint64_t otherwise);

}  // namespace fa::test
