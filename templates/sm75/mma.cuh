// sm_75 instructions by name, the names of sm80/mma.cuh: matrix loads from shared memory, packing, m16n8k16
// products. There is no bf16 here, no tf32, and no instruction that copies to shared memory by itself
// (sm75/tile.cuh).
//
// Fragment layouts are those of m16n8k16 on sm_80: m16n8k8, all that sm_75 has, is one half of it.
#pragma once

#include "common/dtype.cuh"

namespace fa {

/// Four 8x8 matrices; lane l supplies the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], unsigned smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem));
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], unsigned smem) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem));
}

/// Two elements in a word, rounded to nearest even; `lo` is the one with the smaller index.
template <class Element>
__device__ __forceinline__ unsigned pack(float lo, float hi);

template <>
__device__ __forceinline__ unsigned pack<F16>(float lo, float hi) {
  unsigned short low, high;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(low) : "f"(lo));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(high) : "f"(hi));
  unsigned packed;
  asm("mov.b32 %0, {%1, %2};" : "=r"(packed) : "h"(low), "h"(high));
  return packed;
}

template <class Element>
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

template <>
__device__ __forceinline__ void mma_m16n8k16<F16>(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                                  unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b0));
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[2]), "r"(a[3]), "r"(b1));
}

}  // namespace fa
