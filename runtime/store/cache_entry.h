// One file of the disk cache: a header that proves the rest whole, a label for people, the payload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/system/hash.h"

namespace fa {

/// Part of every key and of every file. Raise it when the meaning of an entry's bytes changes.
constexpr std::uint32_t kCacheFormat = 1;

struct CacheEntry {
  std::string label;    // "sliding_window_alibi bf16 d128 h200"
  std::string payload;  // what a kernel is loaded from
};

/// The file's bytes.
std::string encode_entry(const Key& key, const CacheEntry& entry);

/// Returns the entry that a file's bytes hold, or nothing where they are not exactly what encode_entry wrote
/// for `key`: another format, an incomplete write, a changed bit, a file with the wrong name.
std::optional<CacheEntry> decode_entry(const Key& key, std::string_view bytes);

/// The key in a file's name, or nothing where the name is not an entry's.
std::optional<Key> key_of_file(std::string_view file_name);
std::string file_of_key(const Key& key);

}  // namespace fa
