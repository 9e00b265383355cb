// Runs a host baseline's passes on the pool of threads (compiler/emit/host/baseline/baseline.h).
#pragma once

#include <cstddef>

#include "runtime/host/jit.h"
#include "templates/params.h"

namespace fa {

/// Bytes of memory that a call's passes hand each other results in.
std::size_t host_baseline_workspace(const HostBaselineKernel& kernel, const CallParams& call);

/// One forward pass; returns when done. `params` hold host addresses, which the runtime has checked; `workspace` has
/// the call's bytes and is aligned to 16. `num_threads` 0: every core of this process' affinity mask. May be called from
/// several threads at once, each with a workspace of its own.
void run_host_baseline(const HostBaselineKernel& kernel, const ForwardParams& params, void* workspace,
                       int num_threads = 0);

}  // namespace fa
