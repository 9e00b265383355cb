// The element types of q, k, v and o, as names that kernels and instructions are selected by. How a type is
// packed and multiplied is its architecture's (sm80/mma.cuh, sm75/mma.cuh). No CUDA header is included.
#pragma once

namespace fa {

struct Bf16 {
  static constexpr int kBytes = 2;
};

struct F16 {
  static constexpr int kBytes = 2;
};

// f32 by what multiplies it.
struct Tf32x3 {
  static constexpr int kBytes = 4;
};

struct Ffma {
  static constexpr int kBytes = 4;
};

}  // namespace fa
