// A pass may start while the pass before it still runs (programmatic dependent launch, compute capability 9.0
// and later; CUDA C++ Programming Guide): its CTAs take the places that the other one leaves, do what needs none
// of its results, and wait. The launch allows it where Pass::overlaps says so (compiler/program/pass.h).
#pragma once

#include "common/dependent_launch.h"

namespace fa {

/// The pass after this one may start once every block has come here.
__device__ __forceinline__ void let_next_pass_start() {
#if __CUDA_ARCH__ >= FA_OVERLAPS_FROM * 10
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the pass, or the caller's kernel, before this one has ended. What that one wrote must be read by
/// loads that the compiler may not move up: by __ldg only behind a condition, past which it speculates no read,
/// as in the loops of the tile map's pass.
__device__ __forceinline__ void await_pass_before() {
#if __CUDA_ARCH__ >= FA_OVERLAPS_FROM * 10
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace fa
