// Runs a host kernel on the pool of threads.
#pragma once

#include "runtime/host/jit.h"
#include "templates/params.h"

namespace fa {

/// One forward pass; returns when done. `num_threads` 0: every core of this process' affinity mask. `params`
/// hold host addresses, which the runtime has checked; lse may be null. May be called from several threads at
/// once. The calling thread keeps what a call needs beyond the threads' workspaces (the tile map, the order
/// of work), so that its next call of the same size allocates nothing.
void run_host(const HostKernel& kernel, const ForwardParams& params, int num_threads = 0);

}  // namespace fa
