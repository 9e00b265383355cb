// Instructions that every architecture has, or all from one on, by name: what C++ does not say, or what
// compilers do not find. Those that copy tiles and multiply are in the architectures' mma.cuh. Assembly
// stands in these files and nowhere else (but where it only hides a value from the compiler), so that a host
// can run everything else with instructions of its own (tests/emulated_gpu).
#pragma once

namespace fa {

/// Compilers do not know the value from here on: nothing that is found from it is known from before.
__device__ __forceinline__ void hide(unsigned& value) { asm volatile("" : "+r"(value)); }

/// base + a * b in one instruction.
__device__ __forceinline__ const char* multiply_add(int a, int b, const char* base) {
  const char* address;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(address) : "r"(a), "r"(b), "l"(base));
  return address;
}

/// 16 bytes of shared memory.
__device__ __forceinline__ void load_shared_16(unsigned (&words)[4], unsigned smem) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(smem));
}

__device__ __forceinline__ unsigned load_shared_4(unsigned smem) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(smem));
  return word;
}

__device__ __forceinline__ void store_shared_16(unsigned smem, uint4 piece) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(smem), "r"(piece.x), "r"(piece.y),
               "r"(piece.z), "r"(piece.w)
               : "memory");
}

/// Adds to a number in global memory, whatever else adds to it. atomicAdd asks what memory it is where ptxas cannot tell.
__device__ __forceinline__ void add_to_global(float* to, float by) {
  asm volatile(
      "{\n.reg .u64 place;\ncvta.to.global.u64 place, %0;\nred.global.add.f32 [place], %1;\n}" ::"l"(to),
      "f"(by)
      : "memory");
}

#if __CUDA_ARCH__ >= 900
constexpr bool kAddsFour = true;        // one instruction adds four numbers that lie side by side
constexpr bool kStoresMatrices = true;  // one instruction stores matrices of 8 x 8
#else
constexpr bool kAddsFour = false;
constexpr bool kStoresMatrices = false;
#endif

/// As add_to_global, to the four numbers at `to`, aligned to 16 bytes.
__device__ __forceinline__ void add_four_to_global(float* to, const float (&by)[4]) {
  asm volatile(
      "{\n.reg .u64 place;\ncvta.to.global.u64 place, %0;\nred.global.add.v4.f32 [place], {%1, %2, %3, "
      "%4};\n}" ::"l"(to),
      "f"(by[0]), "f"(by[1]), "f"(by[2]), "f"(by[3])
      : "memory");
}

/// A barrier of so many threads of the CTA, whole warps. Barrier 0 is __syncthreads.
__device__ __forceinline__ void sync_some(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Adds 1 to a count in global memory, for another CTA's await_count: that one then finds all that this thread wrote, and what
/// a barrier before showed it to be written by others.
__device__ __forceinline__ void count_up(unsigned* count) {
  asm volatile("red.release.gpu.add.u32 [%0], 1;" ::"l"(count) : "memory");
}

/// Waits until the count is `all`.
__device__ __forceinline__ void await_count(const unsigned* count, unsigned all) {
  unsigned found;
  while (true) {
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(found) : "l"(count) : "memory");
    if (found >= all) return;
    asm volatile("nanosleep.u32 100;");
  }
}

/// Stores four matrices of 8 x 8 16-bit elements in shared memory, each as a product leaves it in a warp's registers. `smem`:
/// where row lane % 8 of matrix lane / 8 goes.
__device__ __forceinline__ void store_matrices(unsigned smem, const unsigned (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(smem), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

/// Copies 16 bytes from global to shared memory past the L1; writes zeros where `valid` is false and reads
/// nothing. From sm_80 on.
__device__ __forceinline__ void cp_async_16(unsigned smem, const void* gmem, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(smem), "l"(gmem),
               "r"(valid ? 16 : 0)
               : "memory");
}

/// The same if `is_wanted`, else nothing. A predicate decides, so that there is no branch.
__device__ __forceinline__ void cp_async_16_if(bool is_wanted, unsigned smem, const void* gmem, bool valid) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n"
      "@p cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n}" ::"r"(smem),
      "l"(gmem), "r"(valid ? 16 : 0), "r"(is_wanted ? 1 : 0)
      : "memory");
}

/// 2^x, relative error 2^-22; subnormal results are flushed to zero. exp2(-inf) = 0.
__device__ __forceinline__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// log2(x), absolute error 2^-22 for x in (0.5, 2), relative error 2^-22 elsewhere; -inf at 0, NaN below.
__device__ __forceinline__ float fast_log2(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// tanh(x), relative error 2^-11 (one MUFU instruction; what FlashAttention's softcap uses too).
__device__ __forceinline__ float fast_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1 / x, relative error 2^-23.
__device__ __forceinline__ float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1 / sqrt(x), relative error 2^-22.
__device__ __forceinline__ float fast_rsqrt(float x) {
  float y;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// sqrt(x), relative error 2^-22.
__device__ __forceinline__ float fast_sqrt(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// x / y, at most 2 ulp, over the full range.
__device__ __forceinline__ float fast_divide(float x, float y) {
  float z;
  asm("div.full.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

/// sin(x) for |x| <= pi, absolute error 2^-20.9.
__device__ __forceinline__ float approximate_sin(float x) {
  float y;
  asm("sin.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// cos(x) for |x| <= pi, absolute error 2^-20.9.
__device__ __forceinline__ float approximate_cos(float x) {
  float y;
  asm("cos.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// The value of an f16 element, from its bits.
__device__ __forceinline__ float f16_to_float(unsigned short bits) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits));
  return y;
}

}  // namespace fa
