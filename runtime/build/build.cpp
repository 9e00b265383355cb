#include "runtime/build/build.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>

#include "runtime/build/key.h"
#include "runtime/build/nvrtc_find.h"
#include "runtime/system/options.h"

namespace fa {
namespace {

/// An entry's payload: these figures, then the image. The passes are in the key, so the Source has them.
struct Figures {
  std::int32_t registers;
  std::int32_t spill_bytes;
};

std::string encode(const Binary& binary) {
  const Figures figures = {.registers = binary.registers, .spill_bytes = binary.spill_bytes};
  return std::string(reinterpret_cast<const char*>(&figures), sizeof figures) + binary.image;
}

std::optional<Binary> decode(const Source& source, std::string_view payload) {
  Figures figures = {};
  if (payload.size() <= sizeof figures) return std::nullopt;
  std::memcpy(&figures, payload.data(), sizeof figures);
  return Binary{.image = std::string(payload.substr(sizeof figures)),
                .program = source.program,
                .registers = figures.registers,
                .spill_bytes = figures.spill_bytes};
}

Built compile_as_it_is(const Source& source) {
  const Nvrtc& nvrtc = Nvrtc::get();
  return nvrtc.compile(source, nvrtc_flags(nvrtc_arch(nvrtc, source.arch), environment().nvrtc_flags));
}

}  // namespace

std::string nvrtc_arch(const Nvrtc& nvrtc, std::string_view arch) {
  if (nvrtc.supports(arch)) return std::string(arch);
  constexpr int kOldest = 75;
  const std::string_view digits = arch.substr(std::min(arch.find('_') + 1, arch.size()));
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  for (int older = number; older >= kOldest; --older)
    if (nvrtc.supports(fmt::format("sm_{}", older))) return fmt::format("compute_{}", older);
  throw BuildError(
      fmt::format("NVRTC {} ({}) compiles for nothing up to {}: install another, or point FA_NVRTC at it",
                  nvrtc.version_text(), nvrtc.library(), arch),
      {});
}

Source with_templates(Source source, const std::string& folder) {
  if (folder.empty()) return source;
  for (SourceHeader& header : source.headers) {
    const std::string path = folder + "/" + header.path;
    std::ifstream file(path, std::ios::binary);
    header.text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file)
      throw ArgumentError(
          fmt::format("FA_TEMPLATE_DIR='{}': {} cannot be read; correct it or unset it", folder, path));
  }
  return source;
}

Built build_source(const Source& source) {
  return compile_as_it_is(with_templates(source, environment().template_dir));
}

BuildResult build(const Source& plain, const DiskCache& cache, std::string_view label) {
  const Source source = with_templates(plain, environment().template_dir);
  // The key is made without loading NVRTC, which would take longer than the rest of a cache hit.
  const std::string& library = nvrtc_library();
  const std::vector<std::string> flags = nvrtc_flags(source.arch, environment().nvrtc_flags);
  const Key key = cuda_key(source, flags, nvrtc_identity(library));
  BuildResult result;
  if (const std::optional<CacheEntry> entry = cache.get(key, &result.miss)) {
    if (std::optional<Binary> binary = decode(source, entry->payload)) {
      result.binary = std::move(*binary);
      result.from_disk = true;
      return result;
    }
    result.miss = "the entry has no image";
  }
  Built built = compile_as_it_is(source);
  Binary binary = {.image = built.cubin.empty() ? std::move(built.ptx) : std::move(built.cubin),
                   .program = source.program,
                   .registers = built.figures.registers,
                   .spill_bytes = built.figures.spill_bytes()};
  if (!cache.folder().empty())
    result.not_kept = cache.put(key, {.label = std::string(label), .payload = encode(binary)});
  result.binary = std::move(binary);
  return result;
}

std::vector<BuildResult> build_all(std::span<const BuildRequest> requests, const DiskCache& cache) {
  const auto build_one = [&cache](const BuildRequest& one) { return build(*one.source, cache, one.label); };
  std::vector<std::future<BuildResult>> others;
  for (const BuildRequest& one : requests.subspan(1))
    others.push_back(std::async(std::launch::async, build_one, std::cref(one)));
  std::vector<BuildResult> results{build_one(requests.front())};  // futures wait for the rest
  for (std::future<BuildResult>& other : others) results.push_back(other.get());
  return results;
}

}  // namespace fa
