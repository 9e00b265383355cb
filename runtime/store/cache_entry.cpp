#include "runtime/store/cache_entry.h"

#include <charconv>
#include <cstring>

namespace fa {
namespace {

constexpr std::string_view kSuffix = ".facet";
constexpr char kMagic[8] = {'f', 'a', 'c', 'e', 't', 'b', 'i', 'n'};

struct Header {
  char magic[8];
  std::uint32_t format;
  std::uint32_t header_bytes;
  std::uint64_t key_high;
  std::uint64_t key_low;
  std::uint64_t label_bytes;
  std::uint64_t payload_bytes;
  std::uint64_t check_high;  // over the header before it, label and payload
  std::uint64_t check_low;
};
static_assert(sizeof(Header) == 64);

Key checksum(const Header& header, std::string_view label, std::string_view payload) {
  const std::string_view texts[] = {
      std::string_view(reinterpret_cast<const char*>(&header), offsetof(Header, check_high)), label, payload};
  return hash_texts(texts);
}

}  // namespace

std::string encode_entry(const Key& key, const CacheEntry& entry) {
  Header header = {.magic = {},
                   .format = kCacheFormat,
                   .header_bytes = sizeof(Header),
                   .key_high = key.high,
                   .key_low = key.low,
                   .label_bytes = entry.label.size(),
                   .payload_bytes = entry.payload.size(),
                   .check_high = 0,
                   .check_low = 0};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const Key check = checksum(header, entry.label, entry.payload);
  header.check_high = check.high;
  header.check_low = check.low;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + entry.label + entry.payload;
}

std::optional<CacheEntry> decode_entry(const Key& key, std::string_view bytes) {
  Header header = {};
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.format != kCacheFormat ||
      header.header_bytes != sizeof header || Key{header.key_high, header.key_low} != key)
    return std::nullopt;
  if (header.label_bytes > bytes.size() || header.payload_bytes != bytes.size() - header.label_bytes)
    return std::nullopt;
  const std::string_view label = bytes.substr(0, header.label_bytes);
  const std::string_view payload = bytes.substr(header.label_bytes);
  if (checksum(header, label, payload) != Key{header.check_high, header.check_low}) return std::nullopt;
  return CacheEntry{.label = std::string(label), .payload = std::string(payload)};
}

std::string file_of_key(const Key& key) { return key.hex() + std::string(kSuffix); }

std::optional<Key> key_of_file(std::string_view file_name) {
  if (!file_name.ends_with(kSuffix)) return std::nullopt;
  file_name.remove_suffix(kSuffix.size());
  if (file_name.size() != 32) return std::nullopt;
  Key key;
  const char* const middle = file_name.data() + 16;
  const char* const end = file_name.data() + 32;
  if (std::from_chars(file_name.data(), middle, key.high, 16).ptr != middle ||
      std::from_chars(middle, end, key.low, 16).ptr != end)
    return std::nullopt;
  return key.hex() == file_name ? std::optional(key) : std::nullopt;
}

}  // namespace fa
