// Products of matrices by a warp, and matrix loads, as sm_75 and sm_80 have them: fragments are laid out as
// templates/sm80/mma.cuh says.
#pragma once

#include "common/dtype.cuh"
#include "common/instructions.cuh"
#include "tools/reference/half.h"

namespace fa::emulated {

inline float to_float(Bf16, unsigned short bits) { return tools::bf16_to_float(bits); }
inline float to_float(F16, unsigned short bits) { return tools::f16_to_float(bits); }
inline unsigned short from_float(Bf16, float x) { return tools::float_to_bf16(x); }
inline unsigned short from_float(F16, float x) { return tools::float_to_f16(x); }

/// c += a b for fragments of m16n8k16 of 16-bit elements.
template <class Element>
void multiply(float (&c)[4], const unsigned* a, const unsigned* b) {
  struct Mine {
    float* c;
    const unsigned *a, *b;
  } mine = {c, a, b};
  static constexpr unsigned kDepth = 16;
  block.together<Mine>("mma", mine, [](Mine* const(&of_lanes)[kWarpSize]) {
    float left[16][kDepth], right[kDepth][8];
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned word = 0; word < kDepth / 4; ++word)
        for (unsigned i = 0; i < 2; ++i) {
          const unsigned k = 2 * (lane % 4) + i;
          const auto half = [&](unsigned bits) { return static_cast<unsigned short>(bits >> (16 * i)); };
          left[lane / 4 + 8 * (word % 2)][k + 8 * (word / 2)] =
              to_float(Element{}, half(of_lanes[lane]->a[word]));
          if (word < kDepth / 8)
            right[k + 8 * word][lane / 4] = to_float(Element{}, half(of_lanes[lane]->b[word]));
        }
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
        float sum = of_lanes[lane]->c[i];
        for (unsigned k = 0; k < kDepth; ++k) sum += left[row][k] * right[k][column];
        of_lanes[lane]->c[i] = sum;
      }
  });
}

/// Four 8x8 matrices of 16 bits; lane l has the address of row l % 8 of matrix l / 8.
inline void load_matrices(unsigned (&r)[4], unsigned smem, bool transposed) {
  struct Mine {
    unsigned* r;
    unsigned smem;
    bool transposed;
  } mine = {r, smem, transposed};
  block.together<Mine>("ldmatrix", mine, [](Mine* const(&of_lanes)[kWarpSize]) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      unsigned short elements[8][8];
      for (unsigned row = 0; row < 8; ++row)
        std::memcpy(elements[row], piece_at(of_lanes[8 * matrix + row]->smem), 16);
      for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const auto at = [&](unsigned i) -> unsigned {
          const unsigned row = lane / 4, column = 2 * (lane % 4) + i;
          return of_lanes[lane]->transposed ? elements[column][row] : elements[row][column];
        };
        of_lanes[lane]->r[matrix] = at(0) | at(1) << 16;
      }
    }
  });
}

}  // namespace fa::emulated

namespace fa {

inline void ldmatrix_x4(unsigned (&r)[4], unsigned smem) { emulated::load_matrices(r, smem, false); }
inline void ldmatrix_x4_trans(unsigned (&r)[4], unsigned smem) { emulated::load_matrices(r, smem, true); }

template <class Element>
unsigned pack(float lo, float hi) {
  return emulated::from_float(Element{}, lo) | unsigned{emulated::from_float(Element{}, hi)} << 16;
}

template <class Element>
void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  emulated::multiply<Element>(c, a, b);
}

}  // namespace fa
