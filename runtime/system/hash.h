// A hash of 128 bits over texts, by which caches and bundles tell contents apart. It is fast, and no
// protection against deliberate collisions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fa {

struct Key {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::string hex() const;  // 32 digits
  bool operator==(const Key&) const = default;
};

/// The hash of a list of texts. It includes their lengths, so {"ab", "c"} and {"a", "bc"} differ.
Key hash_texts(std::span<const std::string_view> texts);

}  // namespace fa
