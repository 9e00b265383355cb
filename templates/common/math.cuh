// Scalar functions that generated hooks call: integer arithmetic that wraps, 16-bit table elements, and the
// fast forms of the transcendental functions. No CUDA header is included; nvcc and NVRTC both declare the
// intrinsics used here.
//
// Kernels on 16-bit data use the `fast_` forms in score_mod: their error stays well under that of the data.
// Masks, and kernels on f32 data, call CUDA's accurate functions (expf, tanhf, ...) instead.
#pragma once

#include "common/dtype.cuh"
#include "common/instructions.cuh"

namespace fa {

constexpr float kLog2e = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;

/// e^x, relative error 2^-22 + |x| * 2^-23.
__device__ __forceinline__ float fast_exp(float x) { return fast_exp2(x * kLog2e); }

/// ln(x), the error of fast_log2.
__device__ __forceinline__ float fast_log(float x) { return fast_log2(x) * kLn2; }

/// 1 / (1 + e^-x), relative error 2^-21. Not by tanh.approx: its error is absolute where the result is near
/// 0, and log(sigmoid(x)) would show it.
__device__ __forceinline__ float fast_sigmoid(float x) {
  return fast_reciprocal(1.0f + fast_exp2(x * -kLog2e));
}

/// x - 2 pi n, into [-pi, pi]: two pi in three parts, the first with so few bits that the first step is
/// exact. Absolute error below 2^-22 for |x| < 2^16, below 2^-21 for |x| < 2^24.
__device__ __forceinline__ float reduce_angle(float x) {
  const float n = rintf(x * 0.15915494309189535f);
  return fmaf(n, -1.025337627e-11f, fmaf(n, -1.935307169e-3f, fmaf(n, -6.28125f, x)));
}

/// sin(x), absolute error 2^-20 for |x| < 2^24. (sinf is exact to 2 ulp but keeps a local array for its slow
/// path.)
__device__ __forceinline__ float fast_sin(float x) { return approximate_sin(reduce_angle(x)); }

/// cos(x), absolute error 2^-20 for |x| < 2^24.
__device__ __forceinline__ float fast_cos(float x) { return approximate_cos(reduce_angle(x)); }

/// 1 / (1 + e^-x) by the accurate functions.
__device__ __forceinline__ float accurate_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Spec integers wrap around; C++ signed integers must not. Where the compiler has proved that nothing wraps,
// the generated text uses plain operators instead of these.
__device__ __forceinline__ int wrap_add(int a, int b) { return int(unsigned(a) + unsigned(b)); }
__device__ __forceinline__ int wrap_sub(int a, int b) { return int(unsigned(a) - unsigned(b)); }
__device__ __forceinline__ int wrap_mul(int a, int b) { return int(unsigned(a) * unsigned(b)); }
__device__ __forceinline__ int wrap_abs(int a) { return a < 0 ? wrap_sub(0, a) : a; }
__device__ __forceinline__ int shift_left(int a, int amount) { return int(unsigned(a) << amount); }
__device__ __forceinline__ int logical_shift_right(int a, int amount) { return int(unsigned(a) >> amount); }

// Division of numbers known not to be negative: cheaper by a constant than the signed operators.
__device__ __forceinline__ int unsigned_div(int a, int b) { return int(unsigned(a) / unsigned(b)); }
__device__ __forceinline__ int unsigned_mod(int a, int b) { return int(unsigned(a) % unsigned(b)); }

// The same in 64 bits, for addresses and tile bounds.
using Word = unsigned long long;
__device__ __forceinline__ long long wrap_add(long long a, long long b) {
  return (long long)(Word(a) + Word(b));
}
__device__ __forceinline__ long long wrap_sub(long long a, long long b) {
  return (long long)(Word(a) - Word(b));
}
__device__ __forceinline__ long long wrap_mul(long long a, long long b) {
  return (long long)(Word(a) * Word(b));
}
__device__ __forceinline__ long long wrap_abs(long long a) { return a < 0 ? wrap_sub(0LL, a) : a; }
__device__ __forceinline__ long long shift_left(long long a, long long n) {
  return (long long)(Word(a) << n);
}
__device__ __forceinline__ long long logical_shift_right(long long a, long long n) {
  return (long long)(Word(a) >> n);
}
__device__ __forceinline__ long long unsigned_div(long long a, long long b) {
  return (long long)(Word(a) / Word(b));
}
__device__ __forceinline__ long long unsigned_mod(long long a, long long b) {
  return (long long)(Word(a) % Word(b));
}

/// The value of a bf16 element, from its bits.
__device__ __forceinline__ float bf16_to_float(unsigned short bits) {
  return __uint_as_float(unsigned(bits) << 16);
}

/// The value of an element of 16 bits of either type.
__device__ __forceinline__ float widened(Bf16, unsigned short bits) { return bf16_to_float(bits); }
__device__ __forceinline__ float widened(F16, unsigned short bits) { return f16_to_float(bits); }

}  // namespace fa
