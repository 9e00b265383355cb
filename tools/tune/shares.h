// What a mask leaves of the tiles of a problem, by tile size.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/schedule/plan.h"
#include "tools/problem/problem.h"

namespace fa::tools {

/// Counted once for each tile size. Plans are compared, so where one size cannot be counted, none is: every tile then counts.
/// Refers to the spec and the inputs, whose sizes are those that it is asked about.
class Shares {
 public:
  Shares(const Spec& spec, const std::vector<ProblemInputs>& inputs) : spec_(spec), inputs_(inputs) {}

  /// From 0 to 1.
  double of(const Plan& plan, const ProblemSize& size);

 private:
  bool is_countable(const ProblemSize& size);
  std::optional<double> counted(const ProblemSize& size, int tile_q, int tile_kv);

  const Spec& spec_;
  const std::vector<ProblemInputs>& inputs_;
  std::map<std::tuple<int, int, int, int>, std::optional<double>> shares_;
};

}  // namespace fa::tools
