// A forward kernel may start while the pass that fills its tile map still runs (programmatic dependent
// launch, compute capability 9.0 and later; CUDA C++ Programming Guide): its CTAs take the places that the
// pass leaves, start the copy of Q and wait. The launch asks for it where kOverlapsFrom says so
// (runtime/cuda/launch.cpp).
#pragma once

#include "common/tiles/tile_map.h"

namespace fa {

/// In the pass: the forward kernel may start once every block has come here.
__device__ __forceinline__ void let_forward_start() {
#if __CUDA_ARCH__ >= FA_OVERLAPS_FROM * 10
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// In the forward kernel: waits until the pass has ended. What it wrote must be read by loads that the
/// compiler may not move up: not by __ldg.
__device__ __forceinline__ void await_tile_map() {
#if __CUDA_ARCH__ >= FA_OVERLAPS_FROM * 10
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace fa
