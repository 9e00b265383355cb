// The processor's time that this process and its children have taken.
#pragma once

#include <sys/resource.h>

namespace fa::tests {

/// Seconds of all threads of this process (RUSAGE_SELF), or of the children that it has waited for (RUSAGE_CHILDREN).
inline double processor_seconds(int who) {
  rusage used{};
  getrusage(who, &used);
  double seconds = 0;
  for (const timeval& time : {used.ru_utime, used.ru_stime})
    seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  return seconds;
}

}  // namespace fa::tests
