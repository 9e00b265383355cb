// Barriers in shared memory (mbarrier), from sm_80 on: some arrive, others wait until all have. A barrier goes through
// phases; a wait names the parity of the one whose end it awaits, and returns at once where the barrier is new and the
// parity 1.
#pragma once

namespace fa {

constexpr int kBarrierBytes = 8;

/// By one thread, before the CTA's first barrier of all threads.
__device__ __forceinline__ void make_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives once all copies that this thread has started are there.
__device__ __forceinline__ void arrive_with_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

#if __CUDA_ARCH__ >= 900
#define FA_MBARRIER_WAIT "mbarrier.try_wait"  // sleeps for a while
#else
#define FA_MBARRIER_WAIT "mbarrier.test_wait"
#endif

__device__ __forceinline__ void wait(unsigned barrier, int parity) {
  unsigned done;
  do {
    asm volatile("{\n.reg .pred p;\n" FA_MBARRIER_WAIT
                 ".parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (done == 0);
}

}  // namespace fa
