// The parts of CUDA that the templates use, for a block whose threads are threads of the host: a barrier
// joins the lanes of a warp, another one the warps of the block.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <memory>
#include <thread>
#include <vector>

#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static

using std::max;
using std::min;

struct HostIndex3 {
  unsigned x = 0, y = 0, z = 0;
};
struct int2 {
  int x, y;
};
inline thread_local HostIndex3 threadIdx;
inline HostIndex3 blockIdx, blockDim, gridDim;

struct HostWarp {
  std::barrier<> meet{32};
  std::array<std::array<unsigned, 32>, 2>
      lanes{};  // used alternately, since no lane is two exchanges ahead of another
};
inline thread_local unsigned exchanges = 0;

struct HostBlock {
  std::vector<std::unique_ptr<HostWarp>> warps;
  std::unique_ptr<std::barrier<>> meet;
};
inline HostBlock host_block;

/// Runs `body` on every thread of a block of `warps` warps.
template <class Body>
void run_block(unsigned warps, const Body& body) {
  host_block.warps.clear();
  for (unsigned i = 0; i < warps; ++i) host_block.warps.push_back(std::make_unique<HostWarp>());
  host_block.meet = std::make_unique<std::barrier<>>(32 * warps);
  blockDim = {32 * warps, 1, 1};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 32 * warps; ++i)
    threads.emplace_back([&body, i] {
      threadIdx.x = i;
      body(i);
    });
}

template <class Combine>
auto exchange(unsigned mine, Combine combine) {
  HostWarp& warp = *host_block.warps[threadIdx.x / 32];
  std::array<unsigned, 32>& lanes = warp.lanes[exchanges++ % 2];
  lanes[threadIdx.x % 32] = mine;
  warp.meet.arrive_and_wait();
  return combine(lanes);
}

inline unsigned __ballot_sync(unsigned, bool mine) {
  return exchange(mine ? 1u : 0u, [](const std::array<unsigned, 32>& lanes) {
    unsigned bits = 0;
    for (unsigned i = 0; i < 32; ++i) bits |= lanes[i] << i;
    return bits;
  });
}
inline int __shfl_sync(unsigned, int mine, int lane) {
  return exchange(static_cast<unsigned>(mine), [&](const std::array<unsigned, 32>& lanes) {
    return static_cast<int>(lanes[static_cast<unsigned>(lane) % 32]);
  });
}
inline float __shfl_sync(unsigned all, float mine, int lane) {
  return std::bit_cast<float>(__shfl_sync(all, std::bit_cast<int>(mine), lane));
}
inline int __shfl_xor_sync(unsigned all, int mine, int bits) {
  return __shfl_sync(all, mine, static_cast<int>(threadIdx.x % 32) ^ bits);
}
inline int __shfl_up_sync(unsigned all, int mine, int by) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return __shfl_sync(all, mine, lane < by ? lane : lane - by);
}
inline void __syncwarp() { host_block.warps[threadIdx.x / 32]->meet.arrive_and_wait(); }
inline void __syncthreads() { host_block.meet->arrive_and_wait(); }

inline int __ffs(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __ldg(const int* from) { return *from; }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }

template <class T>
T atomicAdd(T* to, T by) {
  return std::atomic_ref(*to).fetch_add(by);
}
inline void atomicOr(unsigned* to, unsigned bits) { std::atomic_ref(*to).fetch_or(bits); }
inline void atomicMin(int* to, int value) {
  std::atomic_ref at(*to);
  for (int now = at; value < now && !at.compare_exchange_weak(now, value);) {
  }
}
inline void atomicMax(int* to, int value) {
  std::atomic_ref at(*to);
  for (int now = at; value > now && !at.compare_exchange_weak(now, value);) {
  }
}
