// The CPU that host kernels are made for.
#pragma once

#include <string>

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
  bool amx = false;  // tiles of bf16

  /// Derives the rest from the features.
  static HostCpu from_features(std::string triple, std::string name, std::string features,
                               std::string data_layout = {});
};

}  // namespace fa
