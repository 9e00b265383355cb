// One file of the disk cache: a header that proves the rest whole, a label for people, the payload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/system/hash.h"

namespace fa {

/// Part of every key and of every file: raise it where an entry's bytes change their meaning.
constexpr std::uint32_t kCacheFormat = 1;

struct CacheEntry {
  std::string label;    // "sliding_window_alibi bf16 d128 h200"
  std::string payload;  // what a kernel is loaded from
};

/// The file's bytes.
std::string encode_entry(const Key& key, const CacheEntry& entry);

/// The entry of a file's bytes, or nothing where they are not exactly what encode_entry wrote for `key`:
/// another format, a torn write, a changed bit, a file under the wrong name.
std::optional<CacheEntry> decode_entry(const Key& key, std::string_view bytes);

/// The key a file's name stands for, or nothing where it is no entry's name.
std::optional<Key> key_of_file(std::string_view file_name);
std::string file_of_key(const Key& key);

}  // namespace fa
