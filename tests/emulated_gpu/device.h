// CUDA as the templates and generated sources use it, for g++: this is the first header of an emulated
// kernel's translation unit. Instructions of one architecture are in templates/, in the place of those that
// have assembly.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/emulated_gpu/block.h"

// after the standard library, which uses one of these names
#define __device__
#define __host__
#define __global__ __attribute__((visibility("default")))
#define __forceinline__ inline
#define __noinline__
#define __shared__ thread_local  // one block at a time, on one thread of the host
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __grid_constant__

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
#pragma GCC visibility push(hidden)  // as in block.h
extern Index3 threadIdx, blockIdx, blockDim, gridDim;
namespace fa {
extern thread_local unsigned char shared[];
}  // namespace fa
namespace fa::emulated {
/// Ends the launch: `address` is not that of so many bytes of the block's shared memory.
[[noreturn]] void refuse_piece(unsigned address, unsigned bytes);
}  // namespace fa::emulated
#pragma GCC visibility pop

struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace fa::emulated {

/// The piece of shared memory at an address: 16 bytes, or fewer.
template <unsigned kBytes = 16>
unsigned char* piece_at(unsigned address) {
  if (address % kBytes != 0 || address + kBytes > block.launch().shared_memory) refuse_piece(address, kBytes);
  return shared + address;
}

template <class T>
struct Exchange {
  T mine;
  unsigned from;
  T result;
};

template <class T>
T shuffle(unsigned mask, T mine, unsigned from) {
  if (mask != 0xffffffffu) block.fail("a shuffle of some lanes alone");
  Exchange<T> exchange = {mine, from % kWarpSize, {}};
  block.together<Exchange<T>>("shuffle", exchange, [](Exchange<T>* const(&of_lanes)[kWarpSize]) {
    for (Exchange<T>* lane : of_lanes) lane->result = of_lanes[lane->from]->mine;
  });
  return exchange.result;
}

inline unsigned ballot(unsigned mask, bool mine, const char* name) {
  if (mask != 0xffffffffu) block.fail("a vote of some lanes alone");
  Exchange<unsigned> exchange = {mine ? 1u : 0u, 0, 0};
  block.together<Exchange<unsigned>>(name, exchange, [](Exchange<unsigned>* const(&of_lanes)[kWarpSize]) {
    unsigned bits = 0;
    for (unsigned i = 0; i < kWarpSize; ++i) bits |= of_lanes[i]->mine << i;
    for (Exchange<unsigned>* lane : of_lanes) lane->result = bits;
  });
  return exchange.result;
}

}  // namespace fa::emulated

inline void __syncthreads() { fa::emulated::block.barrier(); }
/// Whether any thread of the block says so.
inline int __syncthreads_or(int mine) {
  static int any = 0;
  any |= mine;
  __syncthreads();
  const int result = any;
  __syncthreads();
  any = 0;
  __syncthreads();  // no thread asks again before all have done with this
  return result;
}
inline void __threadfence_block() {}
inline void __syncwarp() { fa::emulated::ballot(0xffffffffu, true, "__syncwarp"); }
inline unsigned __ballot_sync(unsigned mask, bool mine) { return fa::emulated::ballot(mask, mine, "ballot"); }
inline bool __any_sync(unsigned mask, bool mine) { return fa::emulated::ballot(mask, mine, "any") != 0; }
template <class T>
T __shfl_sync(unsigned mask, T mine, int lane, int width = 32) {
  const unsigned first = threadIdx.x % 32 / static_cast<unsigned>(width) * static_cast<unsigned>(width);
  return fa::emulated::shuffle(mask, mine,
                               first + static_cast<unsigned>(lane) % static_cast<unsigned>(width));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T mine, int bits) {
  return fa::emulated::shuffle(mask, mine, threadIdx.x % 32 ^ static_cast<unsigned>(bits));
}
template <class T>
T __shfl_up_sync(unsigned mask, T mine, int by) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return fa::emulated::shuffle(mask, mine, static_cast<unsigned>(lane < by ? lane : lane - by));
}
template <class T>
T __shfl_down_sync(unsigned mask, T mine, int by) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return fa::emulated::shuffle(mask, mine, static_cast<unsigned>(lane + by > 31 ? lane : lane + by));
}

inline std::size_t __cvta_generic_to_shared(const void* at) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(at) - fa::shared);
}

inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
template <class T>
T __ldg(const T* from) {
  return *from;
}
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
/// The upper word of high:low moved up by `shift` bits.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __int_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline int __float2int_rz(float x) {
  if (!(x == x)) return 0;
  if (x >= 2147483648.0f) return std::numeric_limits<int>::max();
  if (x < -2147483648.0f) return std::numeric_limits<int>::min();
  return static_cast<int>(x);
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
template <class A, class B>
std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

// Blocks run one after the other, and threads leave off nowhere in the middle.
template <class T>
T atomicAdd(T* to, T by) {
  const T before = *to;
  *to = before + by;
  return before;
}
inline void atomicOr(unsigned* to, unsigned bits) { *to |= bits; }
inline void atomicMin(int* to, int value) { *to = std::min(*to, value); }
inline void atomicMax(int* to, int value) { *to = std::max(*to, value); }
