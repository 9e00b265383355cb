// In the place of templates/sm80/mma.cuh.
#pragma once

#include "products.h"

namespace fa {

inline void cp_async_commit() { emulated::block.close_copies(); }
template <int kPending>
void cp_async_wait() {
  emulated::block.await_copies(kPending);
}

inline unsigned to_tf32(float x) {
  const unsigned bits = __float_as_uint(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

inline void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                             const float (&c)[4]) {
  struct Mine {
    float* d;
    const unsigned *a, *b;
    const float* c;
  } mine = {d, a, b, c};
  emulated::block.together<Mine>("mma of tf32", mine, [](Mine* const(&of_lanes)[emulated::kWarpSize]) {
    const auto value = [](unsigned bits) { return __uint_as_float(bits & 0xffffe000u); };
    float left[16][8], right[8][8], result[emulated::kWarpSize][4];
    for (unsigned lane = 0; lane < emulated::kWarpSize; ++lane) {
      for (unsigned word = 0; word < 4; ++word)
        left[lane / 4 + 8 * (word % 2)][lane % 4 + 4 * (word / 2)] = value(of_lanes[lane]->a[word]);
      for (unsigned word = 0; word < 2; ++word)
        right[lane % 4 + 4 * word][lane / 4] = value(of_lanes[lane]->b[word]);
    }
    for (unsigned lane = 0; lane < emulated::kWarpSize; ++lane)
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
        result[lane][i] = of_lanes[lane]->c[i];
        for (unsigned k = 0; k < 8; ++k) result[lane][i] += left[row][k] * right[k][column];
      }
    for (unsigned lane = 0; lane < emulated::kWarpSize; ++lane)
      for (unsigned i = 0; i < 4; ++i) of_lanes[lane]->d[i] = result[lane][i];
  });
}

}  // namespace fa
