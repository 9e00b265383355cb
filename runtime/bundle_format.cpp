#include "runtime/bundle_format.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "runtime/bundle_manifest.h"
#include "runtime/files.h"

namespace fa {
namespace {

constexpr char kMagic[8] = {'f', 'a', 'c', 'e', 't', 'b', 'n', 'd'};
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kAlignment = 64;  // of the manifest's end and of every cubin

struct Header {
  char magic[8];
  std::uint32_t format;
  std::uint32_t header_bytes;
  std::uint64_t manifest_bytes;
  std::uint64_t file_bytes;
  std::uint64_t check_high;  // over the header before it and the manifest
  std::uint64_t check_low;
  std::uint64_t reserved[2];  // zero
};
static_assert(sizeof(Header) == 64);

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Key check_of(const Header& header, std::string_view manifest) {
  const std::string_view texts[] = {
      std::string_view(reinterpret_cast<const char*>(&header), offsetof(Header, check_high)), manifest};
  return hash_texts(texts);
}

Key check_of(std::string_view image) { return hash_texts(std::span(&image, 1)); }

template <class... Args>
[[noreturn]] void refuse(const std::string& path, fmt::format_string<Args...> text, Args&&... args) {
  throw BundleError(fmt::format("{}: {}", path, fmt::format(text, std::forward<Args>(args)...)));
}

/// The header of a file that has the size and the manifest that it says.
Header read_header(std::string_view bytes, const std::string& path) {
  Header header = {};
  const bool has_magic = bytes.starts_with(std::string_view(kMagic, sizeof kMagic));
  if (!has_magic || bytes.size() < sizeof header) {
    if (bytes.empty()) refuse(path, "is empty: copy it again, or make it with `facet build`");
    if (has_magic)
      refuse(path, "is cut short: it has {} bytes, not even a header; copy it again", bytes.size());
    refuse(path, "is no bundle of kernels: make one with `facet build`");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.format != kFormat) {
    refuse(path,
           "has format {}, this program reads format {}: build it with the facet of the program's version",
           header.format, kFormat);
  }
  if (header.file_bytes > bytes.size())
    refuse(path, "is cut short: it has {} of {} bytes; copy it again", bytes.size(), header.file_bytes);
  if (header.file_bytes < bytes.size()) {
    refuse(path, "goes on after its end: it has {} bytes instead of {}; copy it again", bytes.size(),
           header.file_bytes);
  }
  const std::uint64_t rest = bytes.size() - sizeof header;
  if (header.header_bytes != sizeof header || header.manifest_bytes > rest ||
      check_of(header, bytes.substr(sizeof header, header.manifest_bytes)) !=
          Key{header.check_high, header.check_low} ||
      header.reserved[0] != 0 || header.reserved[1] != 0) {
    refuse(path, "is damaged: its manifest does not have its checksum; copy it again, or build it again");
  }
  return header;
}

/// What lies between two parts is zero, so that contents have one file only.
void check_padding(std::string_view bytes, std::uint64_t from, std::uint64_t to, const std::string& path) {
  for (std::uint64_t at = from; at < to; ++at)
    if (bytes[at] != '\0')
      refuse(path, "is damaged: byte {} lies between two parts and is not 0; copy it again", at);
}

/// `path` names a folder, there or to be made.
bool is_folder(const std::string& path) {
  std::error_code error;
  return path.ends_with('/') || std::filesystem::is_directory(path, error);
}

}  // namespace

std::string encode_bundle(const BundleContents& contents) {
  std::vector<ImagePlace> places;
  std::uint64_t end = 0;
  for (const BundleKernel& kernel : contents.kernels) {
    const std::string& image = kernel.binary.image;
    places.push_back({.offset = end, .bytes = image.size(), .check = check_of(image)});
    end = aligned(end + image.size());
  }
  const std::string manifest = print_manifest(contents, places);
  const std::uint64_t images = aligned(sizeof(Header) + manifest.size());
  Header header = {.magic = {},
                   .format = kFormat,
                   .header_bytes = sizeof(Header),
                   .manifest_bytes = manifest.size(),
                   .file_bytes = images + end,
                   .check_high = 0,
                   .check_low = 0,
                   .reserved = {}};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const Key check = check_of(header, manifest);
  header.check_high = check.high;
  header.check_low = check.low;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += manifest;
  for (std::size_t i = 0; i < places.size(); ++i) {
    bytes.resize(images + places[i].offset);
    bytes += contents.kernels[i].binary.image;
  }
  bytes.resize(header.file_bytes);
  return bytes;
}

BundleContents decode_bundle(std::string_view bytes, const std::string& path) {
  const Header header = read_header(bytes, path);
  Manifest manifest = parse_manifest(bytes.substr(sizeof header, header.manifest_bytes), path);
  BundleContents& contents = manifest.contents;
  const std::uint64_t start = aligned(sizeof header + header.manifest_bytes);
  if (start > bytes.size()) refuse(path, "manifest: ends at {} of {} bytes", start, bytes.size());
  check_padding(bytes, sizeof header + header.manifest_bytes, start, path);
  const std::uint64_t room = bytes.size() - start;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < contents.kernels.size(); ++i) {
    const ImagePlace& place = manifest.places[i];
    if (place.offset != end || place.bytes > room || place.offset > room - place.bytes)
      refuse(path, "manifest: kernels[{}].image: does not lie where the one before it ends", i);
    const std::string_view image = bytes.substr(start + place.offset, place.bytes);
    if (check_of(image) != place.check) {
      const BundleKernel& kernel = contents.kernels[i];
      refuse(
          path,
          "is damaged: the cubin of '{}' for {} does not have its checksum; copy it again, or build it again",
          contents.specs[kernel.spec].name(), kernel.arch);
    }
    contents.kernels[i].binary.image = image;
    end = aligned(place.offset + place.bytes);
    check_padding(bytes, start + place.offset + place.bytes, start + std::min(end, room), path);
  }
  if (end != room) refuse(path, "manifest: the cubins end at {} of {} bytes", start + end, bytes.size());
  return std::move(contents);
}

std::string write_bundle(const std::string& path, const BundleContents& contents) {
  namespace fs = std::filesystem;
  const fs::path target = is_folder(path) ? fs::path(path) / kBundleFile : fs::path(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code error;
  if (is_folder(path)) fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  constexpr mode_t kReadable = 0666;  // less the umask
  const std::string problem =
      replace_file(folder.string(), target.filename().string(), encode_bundle(contents), kReadable);
  if (!problem.empty()) throw Error(fmt::format("{}: cannot be written: {}", target.string(), problem));
  return target.string();
}

}  // namespace fa
