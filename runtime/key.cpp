#include "runtime/key.h"

#include <fmt/format.h>

#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fa {

std::string Key::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Key hash_texts(std::span<const std::string_view> texts) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  for (const std::string_view text : texts) {
    const std::uint64_t size = text.size();
    XXH3_128bits_update(&state, &size, sizeof size);
    XXH3_128bits_update(&state, text.data(), text.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {.high = hash.high64, .low = hash.low64};
}

Key cuda_key(const Source& source, std::span<const std::string> flags, std::string_view nvrtc) {
  const std::string format = fmt::format("facet cuda {}", kCacheFormat);
  const std::string launch =
      fmt::format("{} {} {} {}", source.entry, source.threads, source.tile_q, source.shared_memory);
  std::vector<std::string_view> texts = {format, nvrtc, source.arch, launch, source.text};
  for (const std::string& flag : flags) texts.push_back(flag);
  for (const SourceHeader& header : source.headers) {
    texts.push_back(header.path);
    texts.push_back(header.text);
  }
  return hash_texts(texts);
}

Key host_cache_key(std::string_view text) {
  const std::string format = fmt::format("facet host {}", kCacheFormat);
  const std::string_view texts[] = {format, text};
  return hash_texts(texts);
}

}  // namespace fa
