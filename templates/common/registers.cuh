// Special registers, and numbers whose origin is hidden, by the one instruction that does it: compilers keep
// blockIdx from its first use on, across the kv loop, which has no register to spare, and fold what they
// know. Host code, which has no such registers, takes the variables and the numbers themselves: tests of the
// walk run there.
#pragma once

namespace fa {

/// blockIdx, read anew each time.
struct BlockIndex {
  int x, y, z;
};
__device__ __forceinline__ BlockIndex block_index() {
#ifdef __CUDA_ARCH__
  int x, y, z;
  asm volatile("mov.u32 %0, %%ctaid.x;\n\tmov.u32 %1, %%ctaid.y;\n\tmov.u32 %2, %%ctaid.z;"
               : "=r"(x), "=r"(y), "=r"(z));
  return {x, y, z};
#else
  return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
#endif
}

__device__ __forceinline__ int block_index_x() {
#ifdef __CUDA_ARCH__
  int x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
#else
  return static_cast<int>(blockIdx.x);
#endif
}

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
