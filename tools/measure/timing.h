// Repeated timings, summed up.
#pragma once

#include <vector>

namespace fa::tools {

/// Statistics of several timings of the same work, in milliseconds.
struct TimingSummary {
  int runs = 0;
  double median = 0, p10 = 0, p90 = 0, best = 0;
};

/// How often something that takes `each_ms` is timed in `time_ms`: 3 to `most` times.
int runs_that_fit(double time_ms, double each_ms, int most);

TimingSummary summarise(std::vector<double> milliseconds);

}  // namespace fa::tools
