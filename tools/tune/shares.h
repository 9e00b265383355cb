// What a mask leaves of the tiles of a problem, by tile size.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/schedule/plan.h"
#include "tools/problem/problem.h"
#include "tools/tiles/tile_share.h"

namespace fa::tools {

/// Counted once for each problem, whatever the plans' tiles. Where counting would take long, every tile counts.
/// Refers to the spec and the inputs, whose sizes are those that it is asked about.
class Shares {
 public:
  Shares(const Spec& spec, const std::vector<ProblemInputs>& inputs) : spec_(spec), inputs_(inputs) {}

  /// From 0 to 1.
  double of(const Plan& plan, const ProblemSize& size);

 private:
  const Spec& spec_;
  const std::vector<ProblemInputs>& inputs_;
  std::map<std::pair<int, int>, std::optional<SharesBySize>> shares_;  // by (q_len, kv_len)
};

}  // namespace fa::tools
