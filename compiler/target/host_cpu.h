// The CPU that host kernels are made for.
#pragma once

#include <cstdint>
#include <string>

#include "fa/spec.h"

namespace fa {

/// runtime/host/jit has this machine's.
struct HostCpu {
  std::string triple;       // "x86_64-pc-linux-gnu"
  std::string name;         // LLVM's name: "sapphirerapids"
  std::string features;     // "+avx512f,+fma,..."
  std::string data_layout;  // of LLVM's modules for it
  int lanes = 4;            // floats a vector register holds
  int registers = 16;       // vector registers
  bool avx512 = false;
  bool bf16_pairs = false;  // AVX512_BF16: vdpbf16ps adds the products of two pairs of bf16 to a float
  bool amx = false;         // tiles of bf16

  /// Derives the rest from the features.
  static HostCpu from_features(std::string triple, std::string name, std::string features,
                               std::string data_layout = {});
};

/// What multiplies in a host kernel: vectors of floats, vectors of pairs of bf16, or AMX's tiles.
enum class HostProduct : std::uint8_t { floats, pairs, tiles };

/// The fastest that this CPU has for `dtype`. What it has not is converted to floats.
HostProduct product_of(DType dtype, const HostCpu& cpu);

}  // namespace fa
