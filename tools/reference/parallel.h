// A parallel loop over independent chunks of work, for the tools' own arithmetic (reference, filling,
// comparing).
#pragma once

#include <cstdint>
#include <functional>

namespace fa::tools {

/// Calls `body(begin, end)` over [0, count) in chunks of at most `chunk`, on every core this process may use.
/// The first exception a chunk throws is rethrown here, once the other threads have stopped.
void parallel_for(std::int64_t count, std::int64_t chunk,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace fa::tools
