// Order statistics of timings.
#include "tools/measure/timing.h"

#include <algorithm>
#include <cstddef>

namespace fa::tools {

int runs_that_fit(double time_ms, double each_ms, int most) {
  return static_cast<int>(std::clamp(time_ms / std::max(each_ms, 1e-3), 3.0, static_cast<double>(most)));
}

TimingSummary summarise(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return {};
  std::ranges::sort(milliseconds);
  // Interpolates between neighbours, so that the result does not jump where there are few runs.
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(milliseconds.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, milliseconds.size() - 1);
    const double part = position - static_cast<double>(below);
    return milliseconds[below] * (1 - part) + milliseconds[above] * part;
  };
  return {.runs = static_cast<int>(milliseconds.size()),
          .median = at(0.5),
          .p10 = at(0.1),
          .p90 = at(0.9),
          .best = milliseconds.front()};
}

}  // namespace fa::tools
