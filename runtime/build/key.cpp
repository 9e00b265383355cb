#include "runtime/build/key.h"

#include <fmt/format.h>

#include <vector>

#include "runtime/store/cache_entry.h"

namespace fa {

Key cuda_key(const Source& source, std::span<const std::string> flags, std::string_view nvrtc) {
  const std::string format = fmt::format("facet cuda {}", kCacheFormat);
  const std::string program = print(source.program);
  std::vector<std::string_view> texts = {format, nvrtc, source.arch, program, source.text};
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
