#include "runtime/build/cubin.h"

#include <cstring>
#include <string>

namespace fa {
namespace {

// The fields of an ELF header and of a section header that are read here, by their place in the file.
constexpr std::size_t kHeaderBytes = 64, kSectionBytes = 64;
constexpr std::size_t kClassAt = 4, kOrderAt = 5, kFlagsAt = 48;
constexpr std::size_t kSectionsAt = 40, kNumSectionsAt = 60, kNamesIndexAt = 62;
constexpr std::size_t kNameAt = 0, kTypeAt = 4, kOffsetAt = 24, kSizeAt = 32;
constexpr std::uint32_t kNoBits = 8;  // a section that takes no bytes of the file

/// Reads a number. Nothing where it does not lie within the bytes.
template <class Number>
std::optional<Number> number_at(std::string_view bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Number)) return {};
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t offset = 0, size = 0;

  std::string_view bytes_of(std::string_view file) const {
    if (type == kNoBits || offset > file.size() || size > file.size() - offset) return {};
    return file.substr(offset, size);
  }
};

std::optional<Section> section_at(std::string_view file, std::uint64_t table, std::size_t index) {
  if (table > file.size()) return {};
  const std::size_t at = table + index * kSectionBytes;
  const auto type = number_at<std::uint32_t>(file, at + kTypeAt);
  const auto offset = number_at<std::uint64_t>(file, at + kOffsetAt);
  const auto size = number_at<std::uint64_t>(file, at + kSizeAt);
  if (!type || !offset || !size) return {};
  return Section{.name = {}, .type = *type, .offset = *offset, .size = *size};
}

/// The text that begins there and ends with a NUL.
std::string_view text_at(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return {};
  return bytes.substr(at, bytes.find('\0', at) - at);
}

}  // namespace

std::optional<CubinCode> find_code(std::string_view cubin, std::string_view entry) {
  constexpr char k64Bits = 2, kLittleEndian = 1;
  if (cubin.size() < kHeaderBytes ||
      !cubin.starts_with("\x7f"
                         "ELF") ||
      cubin[kClassAt] != k64Bits || cubin[kOrderAt] != kLittleEndian)
    return {};
  const auto flags = *number_at<std::uint32_t>(cubin, kFlagsAt);
  const auto table = *number_at<std::uint64_t>(cubin, kSectionsAt);
  const auto num_sections = *number_at<std::uint16_t>(cubin, kNumSectionsAt);
  const auto names = section_at(cubin, table, *number_at<std::uint16_t>(cubin, kNamesIndexAt));
  if (!names) return {};
  const std::string_view all_names = names->bytes_of(cubin);

  CubinCode code{.compute_capability = static_cast<int>(flags >> 8 & 0xff),
                 .instructions = {},
                 .static_shared_memory = 0};
  for (std::size_t index = 0; index < num_sections; ++index) {
    const auto section = section_at(cubin, table, index);
    if (!section) return {};
    const auto name_at = number_at<std::uint32_t>(cubin, table + index * kSectionBytes + kNameAt);
    const std::string_view name = text_at(all_names, *name_at);
    const auto is = [&](std::string_view kind) {
      return name.size() == kind.size() + entry.size() && name.starts_with(kind) && name.ends_with(entry);
    };
    if (is(".text.")) code.instructions = section->bytes_of(cubin);
    if (is(".nv.shared.")) code.static_shared_memory = static_cast<std::int64_t>(section->size);
  }
  if (code.instructions.empty()) return {};
  return code;
}

}  // namespace fa
