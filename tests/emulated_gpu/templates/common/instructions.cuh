// In the place of templates/common/instructions.cuh: the same names in C++. What is approximate on a GPU is not
// here; that it is as near as it says is for tests on a GPU to show.
#pragma once

#include "tools/reference/half.h"

namespace fa {

inline void hide(unsigned&) {}

inline const char* multiply_add(int a, int b, const char* base) {
  return base + static_cast<long long>(a) * b;
}

inline void load_shared_16(unsigned (&words)[4], unsigned smem) {
  std::memcpy(words, emulated::piece_at(smem), 16);
}
inline unsigned load_shared_4(unsigned smem) {
  unsigned word = 0;
  std::memcpy(&word, emulated::piece_at(smem - smem % 16) + smem % 16, 4);
  return word;
}
inline void store_shared_16(unsigned smem, uint4 piece) { std::memcpy(emulated::piece_at(smem), &piece, 16); }

inline void cp_async_16(unsigned smem, const void* gmem, bool valid) {
  if (valid && reinterpret_cast<std::uintptr_t>(gmem) % 16 != 0)
    emulated::block.fail("cp.async from an address that is not aligned to 16 bytes");
  emulated::block.copy({.to = emulated::piece_at(smem), .from = valid ? gmem : nullptr});
}

inline void cp_async_16_if(bool is_wanted, unsigned smem, const void* gmem, bool valid) {
  if (is_wanted) cp_async_16(smem, gmem, valid);
}

inline void add_to_global(float* to, float by) { atomicAdd(to, by); }
constexpr bool kAddsFour = false, kStoresMatrices = false;
inline void add_four_to_global(float* to, const float (&by)[4]) {
  for (int i = 0; i < 4; ++i) atomicAdd(to + i, by[i]);
}
inline void sync_some(int barrier, int threads) {
  emulated::block.barrier(barrier, static_cast<unsigned>(threads));
}
inline void count_up(unsigned* count) { ++*count; }
inline void await_count(const unsigned* count, unsigned all) {
  if (*count != all) emulated::block.fail("a pass waits for a count that the passes before it do not reach");
}
inline void store_matrices(unsigned, const unsigned (&)[4]) {
  emulated::block.fail("stmatrix is not emulated");
}
inline float fast_exp2(float x) {
  const float y = exp2f(x);
  return fabsf(y) < std::numeric_limits<float>::min() ? 0.0f : y;
}
inline float fast_log2(float x) { return log2f(x); }
inline float fast_tanh(float x) { return tanhf(x); }
inline float fast_reciprocal(float x) { return 1.0f / x; }
inline float fast_rsqrt(float x) { return 1.0f / sqrtf(x); }
inline float fast_sqrt(float x) { return sqrtf(x); }
inline float fast_divide(float x, float y) { return x / y; }
inline float approximate_sin(float x) { return sinf(x); }
inline float approximate_cos(float x) { return cosf(x); }
inline float f16_to_float(unsigned short bits) { return tools::f16_to_float(bits); }

}  // namespace fa
