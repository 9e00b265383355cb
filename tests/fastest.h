// Times for comparisons within one run: ratios hold on a slow or busy machine, too.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace fa::tests {

/// Seconds of the fastest of several calls: other work may slow each.
template <class Call>
double fastest(Call call, int turns = 20) {
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < turns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count());
  }
  return best;
}

}  // namespace fa::tests
