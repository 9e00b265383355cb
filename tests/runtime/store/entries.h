// Entries of a disk cache, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/store/cache.h"
#include "tests/runtime/system/temporary.h"

namespace fa::tests {

constexpr std::int64_t kRoomy = 1 << 24;

inline Key key_of(int number) {
  return {.high = 0x0123456789abcdefu, .low = static_cast<std::uint64_t>(number)};
}

/// An entry whose every byte follows from `number`, so that a mixture of two shows.
inline CacheEntry entry_of(int number, std::size_t bytes = 1000) {
  CacheEntry entry = {.label = "entry " + std::to_string(number), .payload = std::string(bytes, '\0')};
  for (std::size_t i = 0; i < bytes; ++i)
    entry.payload[i] = static_cast<char>(number * 31 + static_cast<int>(i) * 7);
  return entry;
}

inline bool holds(const DiskCache& cache, int number, std::size_t bytes = 1000) {
  const std::optional<CacheEntry> entry = cache.get(key_of(number));
  return entry && entry->payload == entry_of(number, bytes).payload && entry->label == entry_of(number).label;
}

inline std::string file_of(const TemporaryFolder& folder, int number) {
  return folder / file_of_key(key_of(number));
}

}  // namespace fa::tests
