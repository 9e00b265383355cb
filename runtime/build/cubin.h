// The parts of a cubin that say what ptxas made of a kernel. A cubin is an ELF file of 64 bits, little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fa {

/// One kernel of a cubin.
struct CubinCode {
  int compute_capability = 0;             // 80
  std::string_view instructions;          // of `.text.ENTRY`, 16 bytes each; a part of the cubin
  std::int64_t static_shared_memory = 0;  // bytes, of `.nv.shared.ENTRY`
};

/// The code of `entry`. Nothing where `cubin` is no whole cubin or has no such kernel.
std::optional<CubinCode> find_code(std::string_view cubin, std::string_view entry);

}  // namespace fa
