// A dense tensor in host memory: what the tools fill, read, write, upload and compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fa/spec.h"

namespace fa::tools {

/// Row-major and contiguous, outermost extent first. f16 and bf16 are two bytes, bool one byte (0 or 1).
struct HostTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  HostTensor() = default;
  /// Zero-filled. Throws std::bad_alloc, also where 64 bits do not count the bytes.
  HostTensor(std::string tensor_name, DType type, std::vector<std::int64_t> extents);

  std::int64_t elements() const;
  /// The element at flat index `i`, as a double. Exact for every type but i64, of which hooks read the low 32
  /// bits, and so does this.
  double get(std::int64_t i) const;
  /// Stores `value`: floats round to nearest even, integers truncate and saturate, bool is `value != 0`.
  void set(std::int64_t i, double value);
  /// Widens [begin, begin + count) to floats; for float tensors (exact for all three).
  void widen(std::int64_t begin, std::int64_t count, float* out) const;
};

/// "[1, 4, 512, 128]"
std::string print_shape(const std::vector<std::int64_t>& shape);
/// FNV-1a of the bytes: equal for bit-equal results, so that two runs can be compared by eye.
std::uint64_t checksum(const HostTensor& tensor);

}  // namespace fa::tools
