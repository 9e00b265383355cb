// Online softmax in base 2 over score fragments (Milakov and Gimelshein 2018; FlashAttention-2, algorithm 1).
//
// A thread owns kRows rows of the tile; a row lives in the four lanes of a quad. The state of a row is its
// running maximum m and this thread's share of the running sum l; the shares are added up once, at the end.
#pragma once

#include "common/math.cuh"

namespace fa {

__device__ __forceinline__ float negative_infinity() { return __int_as_float(0xff800000); }

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/// One row's state. Logits are scale * s in base 2, with scale > 0; a caller whose logits are finished passes
/// scale 1.
struct SoftmaxRow {
  float m;         // maximum of s so far, -inf before the first finite one
  float l;         // this thread's share of sum exp2(scale * (s - m))
  float subtract;  // scale * m, or 0 while m is -inf

  __device__ __forceinline__ void start() {
    m = negative_infinity();
    l = 0.0f;
  }

  /// Takes the row maximum of a new tile; returns the factor for what was summed before.
  /// kMayBeEmpty: every score of the row so far can be -inf; then 0 is subtracted instead, so that nothing is
  /// NaN.
  template <bool kMayBeEmpty>
  __device__ __forceinline__ float rescale(float tile_max, float scale) {
    const float m_new = fmaxf(m, quad_max(tile_max));
    const float m_used = kMayBeEmpty && m_new == negative_infinity() ? 0.0f : m_new;
    const float factor = fast_exp2((m - m_used) * scale);
    m = m_new;
    l *= factor;
    subtract = m_used * scale;
    return factor;
  }

  /// The unnormalised probability of one score, added to the sum.
  __device__ __forceinline__ float exponential(float s, float scale) {
    const float p = fast_exp2(fmaf(s, scale, -subtract));
    l += p;
    return p;
  }

  /// Closes the row: 1 / l for the output (0 where the row is empty), and the natural-log lse (-inf there).
  __device__ __forceinline__ float finish(float scale, float& lse) {
    const float sum = quad_sum(l);
    const bool empty = m == negative_infinity();
    lse = empty ? negative_infinity() : (m * scale + fast_log2(sum)) * kLn2;
    return empty ? 0.0f : 1.0f / sum;
  }
};

}  // namespace fa
