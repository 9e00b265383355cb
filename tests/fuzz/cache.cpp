// The cache's reader: entries and file names.
#include <cstring>

#include "runtime/store/cache_entry.h"
#include "tests/fuzz/targets.h"

namespace fa::fuzz {
namespace {

constexpr Key kKey = {.high = 0x0123456789abcdefu, .low = 0xfedcba9876543210u};
constexpr std::size_t kHeader = 64, kCheck = 48, kLabelBytes = 32;

/// The checksum that the header and what follows it should have, put into its place.
void put_checksum_right(std::string& bytes) {
  if (bytes.size() < kHeader) return;
  std::uint64_t label = 0;
  std::memcpy(&label, bytes.data() + kLabelBytes, sizeof label);
  const std::string_view rest = std::string_view(bytes).substr(kHeader);
  label = std::min<std::uint64_t>(label, rest.size());
  const std::string_view texts[] = {std::string_view(bytes).substr(0, kCheck), rest.substr(0, label),
                                    rest.substr(label)};
  const Key check = hash_texts(texts);
  std::memcpy(bytes.data() + kCheck, &check.high, 8);
  std::memcpy(bytes.data() + kCheck + 8, &check.low, 8);
}

}  // namespace

void fuzz_cache(std::string_view bytes) {
  if (const std::optional<Key> key = key_of_file(bytes))
    require(file_of_key(*key) == bytes, "a name that stands for another file");
  std::string file(bytes);
  if (bytes.starts_with('c')) {
    file.erase(0, 1);
    put_checksum_right(file);
  }
  const std::optional<CacheEntry> entry = decode_entry(kKey, file);
  if (!entry) return;
  require(encode_entry(kKey, *entry) == file, "an entry that would be written otherwise");
  require(!decode_entry({.high = kKey.high, .low = kKey.low + 1}, file), "an entry under another's name");
}

}  // namespace fa::fuzz
