// Threads for host kernels: one pool a process, grown on demand, shared by concurrent calls.
#pragma once

#include <cstddef>
#include <functional>

namespace fa {

/// Cores in this process' affinity mask; at least 1.
int usable_cores();

/// Calls `work(item, workspace)` for every item in [0, items), in about that order, on up to `threads`
/// threads (0: every usable core), the caller's among them. `workspace` is 64-byte aligned memory of the
/// running thread, at least `workspace_bytes` long, its contents arbitrary. Returns when all is done. After
/// an exception no further item is begun, and the first exception is thrown again here.
void run_items(std::size_t items, int threads, std::size_t workspace_bytes,
               const std::function<void(std::size_t item, void* workspace)>& work);

}  // namespace fa
