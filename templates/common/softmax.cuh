// Online softmax in base 2 over score fragments (Milakov and Gimelshein 2018; FlashAttention-2, algorithm 1).
//
// A thread owns kRows rows of the tile; a row lives in the four lanes of a quad. The state of a row is its
// running maximum m and this thread's share of the running sum l; the shares are added up once, at the end.
#pragma once

#include "common/math.cuh"

namespace fa {

__device__ __forceinline__ float negative_infinity() { return __int_as_float(0xff800000); }

/// Whether one of them is NaN.
__device__ __forceinline__ bool unordered(float a, float b) { return !(a <= b) && !(a >= b); }

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
///
/// The reference m need not be the maximum itself: any m gives the same quotients, and one that is at most
/// kSlack below the maximum keeps every exponential under 2^kSlack, which 16-bit probabilities and fp32 sums
/// hold with the same relative error. So m follows only when it has fallen further behind (FlashAttention-4,
/// section 3.2), or, where probabilities may be larger, when the sum has (common/row_references.cuh).
///
/// It starts at the lowest finite number instead of -inf: then no difference of two references is NaN, a
/// masked score (-inf) still gives exp2(-inf) = 0, and a row is empty exactly when its sum is 0.
struct SoftmaxRow {
  static constexpr float kSlack = 8.0f;
  // Where references are trusted, of this thread's share of a sum: from when on the reference follows it, it has grown steeply in
  // one tile, and it may have overflowed (2^10, 2^20, 2^60).
  static constexpr float kLargeSum = 1024.0f;
  static constexpr float kSteepSum = 1048576.0f;
  static constexpr float kLostSum = 1152921504606846976.0f;

  float m;  // the reference
  float l;  // this thread's share of sum exp2(scale * s - m)

  __device__ __forceinline__ void start() {
    m = -3.402823466e38f;
    l = 0.0f;
  }

  /// Whether a tile's maximum (scale included) is too far above m.
  __device__ __forceinline__ bool is_stale(float tile_max) const { return tile_max > m + kSlack; }

  /// Moves m up to a new tile's maximum; returns the factor for what was summed before.
  __device__ __forceinline__ float rescale(float tile_max) {
    const float m_new = fmaxf(m, tile_max);
    const float factor = fast_exp2(m - m_new);
    m = m_new;
    l *= factor;
    return factor;
  }

  // NaN is all three.
  __device__ __forceinline__ bool has_large_sum() const { return !(l < kLargeSum); }
  __device__ __forceinline__ bool has_steep_sum() const { return !(l < kSteepSum); }
  __device__ __forceinline__ bool has_lost_sum() const { return !(l < kLostSum); }

  /// By all threads of the quad: moves m up by the power of two that the sum has grown by. Returns the factor for what was summed
  /// before.
  __device__ __forceinline__ float follow_sum() {
    const int exponent = (__float_as_int(fmaxf(quad_max(l), 1.0f)) >> 23) - 127;
    const float factor = __int_as_float((127 - min(exponent, 126)) << 23);
    m += static_cast<float>(exponent);
    l = has_lost_sum() ? __int_as_float(0x7fffffff) : l * factor;
    return factor;
  }

  /// The unnormalised probability of one score, added to the sum. `reference` is m, less what the caller's
  /// tile adds to each of its logits.
  __device__ __forceinline__ float exponential(float s, float scale, float reference) {
    const float p = fast_exp2(fmaf(s, scale, -reference));
    l += p;
    return p;
  }

  /// Raises all logits of the row, which knew nothing of it. An addend that is not finite makes the row empty
  /// (-inf) or NaN.
  __device__ __forceinline__ void add(float addend) {
    m += addend;
    const float nan_or_zero = addend - addend;
    if (nan_or_zero != 0.0f) l = l == 0.0f || addend == negative_infinity() ? 0.0f : nan_or_zero;
  }

  /// Adds a logit of no value; `counts` in one thread of the quad. Returns the factor for what was summed
  /// before.
  __device__ __forceinline__ float add_sink(float logit, bool counts) {
    const float factor = rescale(logit);
    const float p = fast_exp2(logit - m);  // NaN for NaN and +inf, as of any score
    if (counts) l += p;
    return factor;
  }

  /// Closes the row: 1 / l for the output (0 where the row is empty), to 2 ulp unless `kIsExact`, and the
  /// natural-log lse (-inf there).
  template <bool kIsExact>
  __device__ __forceinline__ float finish(float& lse) {
    const float sum = quad_sum(l);
    const bool empty = sum == 0.0f;
    lse = empty ? negative_infinity() : (m + fast_log2(sum)) * kLn2;
    if (empty) return 0.0f;
    return kIsExact ? 1.0f / sum : fast_divide(1.0f, sum);
  }
};

}  // namespace fa
