// The 16-bit element types of q, k, v and o: packing, and the mma shape name each one selects.
// Values travel as packed 32-bit words (element 0 in the low half); no CUDA header is included.
#pragma once

namespace fa {

struct Bf16 {
  /// Rounds to nearest even; `lo` is the element with the smaller index.
  static __device__ __forceinline__ unsigned pack(float lo, float hi) {
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(hi), "f"(lo));
    return packed;
  }
};

struct F16 {
  static __device__ __forceinline__ unsigned pack(float lo, float hi) {
    unsigned packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(hi), "f"(lo));
    return packed;
  }
};

}  // namespace fa
