// Numbers whose origin is hidden from compilers, which would fold what they know. Host code, where tests of
// the walk run, takes the numbers themselves.
#pragma once

namespace fa {

/// A number that no compiler sees.
template <int kNumber>
__device__ __forceinline__ int hidden() {
#ifdef __CUDA_ARCH__
  int number;
  asm volatile("mov.b32 %0, %1;" : "=r"(number) : "n"(kNumber));
  return number;
#else
  return kNumber;
#endif
}

/// A number whose origin no compiler sees.
__device__ __forceinline__ int hidden(int number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

}  // namespace fa
