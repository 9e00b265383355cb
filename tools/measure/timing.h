// Repeated timings, summed up.
#pragma once

#include <vector>

namespace fa::tools {

/// Statistics of several timings of the same work, in milliseconds.
struct TimingSummary {
  int runs = 0;
  double median = 0, p10 = 0, p90 = 0, best = 0;
};

TimingSummary summarise(std::vector<double> milliseconds);

}  // namespace fa::tools
