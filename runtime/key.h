// What a built kernel is filed under: 128 bits over everything that decides its bytes, and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compiler/compile.h"

namespace fa {

struct Key {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::string hex() const;  // 32 digits
  bool operator==(const Key&) const = default;
};

/// Part of every key: raise it where an entry's bytes change their meaning.
constexpr std::uint32_t kCacheFormat = 1;

/// The hash of a list of texts. Lengths count, so {"ab", "c"} and {"a", "bc"} differ.
Key hash_texts(std::span<const std::string_view> texts);

/// Text, headers, flags (with the arch) and the NVRTC that would build it.
Key cuda_key(const Source& source, std::span<const std::string> flags, std::string_view nvrtc);
/// `text`: runtime/host_jit's host_key.
Key host_cache_key(std::string_view text);

}  // namespace fa
