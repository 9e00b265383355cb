#include "runtime/bundle/format.h"

#include <fmt/format.h>

#include <cstring>

#include "compiler/spec/rounding.h"
#include "runtime/bundle/manifest.h"

namespace fa {
namespace {

constexpr char kMagic[8] = {'f', 'a', 'c', 'e', 't', 'b', 'n', 'd'};
constexpr std::uint32_t kFormat = 2;
constexpr std::size_t kAlignment = 64;  // of the manifest's end and of every cubin

constexpr std::uint64_t kMostManifest = 1 << 26;  // read before its checksum is; a kernel takes about 1 KiB

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

std::uint64_t aligned(std::uint64_t bytes) { return round_up(bytes, kAlignment); }

Key check_of(const Header& header, std::string_view manifest) {
  const std::string_view texts[] = {
      std::string_view(reinterpret_cast<const char*>(&header), offsetof(Header, check_high)), manifest};
  return hash_texts(texts);
}

Key check_of(std::string_view image) { return hash_texts(std::span(&image, 1)); }

template <class... Args>
[[noreturn]] void refuse_file(const std::string& path, fmt::format_string<Args...> text, Args&&... args) {
  throw BundleError(fmt::format("{}: {}", path, fmt::format(text, std::forward<Args>(args)...)));
}

/// The header of a file of `bytes` that begins with `start`.
Header read_header(std::string_view start, std::uint64_t bytes, const std::string& path) {
  Header header = {};
  const bool has_magic = start.starts_with(std::string_view(kMagic, sizeof kMagic));
  if (!has_magic || start.size() < sizeof header) {
    if (start.empty()) refuse_file(path, "is empty: copy it again, or make it with `facet build`");
    if (has_magic)
      refuse_file(path, "is cut short: it has {} bytes, not even a header; copy it again", start.size());
    refuse_file(path, "is no bundle of kernels: make one with `facet build`");
  }
  std::memcpy(&header, start.data(), sizeof header);
  if (header.format != kFormat) {
    refuse_file(
        path, "has format {}, this program reads format {}: build it with the facet of the program's version",
        header.format, kFormat);
  }
  if (header.file_bytes > bytes)
    refuse_file(path, "is cut short: it has {} of {} bytes; copy it again", bytes, header.file_bytes);
  if (header.file_bytes < bytes) {
    refuse_file(path, "goes on after its end: it has {} bytes instead of {}; copy it again", bytes,
                header.file_bytes);
  }
  if (header.header_bytes != sizeof header || header.manifest_bytes > kMostManifest ||
      header.manifest_bytes > bytes - sizeof header || header.reserved[0] != 0 || header.reserved[1] != 0)
    refuse_file(path, "is damaged: its header is none that Facet writes; copy it again, or build it again");
  return header;
}

/// What lies between two parts is zero, so that contents have one file only.
void check_padding(std::string_view bytes, std::uint64_t from, std::uint64_t to, const std::string& path) {
  for (std::uint64_t at = from; at < to; ++at)
    if (bytes[at] != '\0')
      refuse_file(path, "is damaged: byte {} should be 0, as no part of the bundle has it; copy it again",
                  at);
}

}  // namespace

std::string encode_bundle(const BundleContents& contents) {
  std::vector<ImagePlace> places;
  std::string images;
  for (const BundleKernel& kernel : contents.kernels) {
    for_each_binary(kernel, [&](const Binary& binary) {
      images.resize(aligned(images.size()));
      places.push_back(
          {.offset = images.size(), .bytes = binary.image.size(), .check = check_of(binary.image)});
      images += binary.image;
    });
  }
  images.resize(aligned(images.size()));
  const std::string manifest = print_manifest(contents, places);
  const std::uint64_t start = aligned(sizeof(Header) + manifest.size());
  Header header = {.magic = {},
                   .format = kFormat,
                   .header_bytes = sizeof(Header),
                   .manifest_bytes = manifest.size(),
                   .file_bytes = start + images.size(),
                   .check_high = 0,
                   .check_low = 0,
                   .reserved = {}};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const Key check = check_of(header, manifest);
  header.check_high = check.high;
  header.check_low = check.low;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += manifest;
  bytes.resize(start);
  return bytes + images;
}

std::uint64_t manifest_end(std::string_view start, std::uint64_t bytes, const std::string& path) {
  return sizeof(Header) + read_header(start, bytes, path).manifest_bytes;
}

void check_manifest(std::string_view start, const std::string& path) {
  Header header = {};
  std::memcpy(&header, start.data(), sizeof header);
  if (check_of(header, start.substr(sizeof header, header.manifest_bytes)) !=
      Key{header.check_high, header.check_low})
    refuse_file(path,
                "is damaged: its manifest does not have its checksum; copy it again, or build it again");
}

BundleContents decode_bundle(std::string_view bytes, const std::string& path) {
  const Header header = read_header(bytes, bytes.size(), path);
  check_manifest(bytes, path);
  Manifest manifest = parse_manifest(bytes.substr(sizeof header, header.manifest_bytes), path);
  BundleContents& contents = manifest.contents;
  const std::uint64_t start = aligned(sizeof header + header.manifest_bytes);
  if (start > bytes.size()) refuse_file(path, "manifest: ends at {} of {} bytes", start, bytes.size());
  check_padding(bytes, sizeof header + header.manifest_bytes, start, path);
  const std::uint64_t room = bytes.size() - start;
  std::uint64_t end = 0;
  auto next = manifest.places.begin();
  for (std::size_t i = 0; i < contents.kernels.size(); ++i) {
    BundleKernel& kernel = contents.kernels[i];
    for_each_binary(kernel, [&](Binary& binary) {
      const ImagePlace& place = *next++;
      const bool is_backward = kernel.backward && &binary == &kernel.backward->binary;
      if (place.offset != end || place.bytes > room || place.offset > room - place.bytes)
        refuse_file(path, "manifest: kernels[{}].{}image: does not lie where the one before it ends", i,
                    is_backward ? "backward." : "");
      const std::string_view image = bytes.substr(start + place.offset, place.bytes);
      if (check_of(image) != place.check) {
        refuse_file(
            path,
            "is damaged: the cubin of '{}'{} for {} does not have its checksum; copy it again, or build it "
            "again",
            contents.specs[kernel.spec].name(), is_backward ? ", backward," : "", kernel.arch);
      }
      binary.image = image;
      end = aligned(place.offset + place.bytes);
      check_padding(bytes, start + place.offset + place.bytes, start + std::min(end, room), path);
    });
  }
  if (end != room) refuse_file(path, "manifest: the cubins end at {} of {} bytes", start + end, bytes.size());
  return std::move(contents);
}

}  // namespace fa
