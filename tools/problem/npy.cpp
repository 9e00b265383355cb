// The .npy format, version 1 to 3: "\x93NUMPY", version, header length, a Python dictionary, the data.
#include "tools/problem/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "runtime/system/output.h"
#include "tools/problem/npy_type.h"

namespace fa::tools {

namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kMaxHeader = 1 << 16;

[[noreturn]] void damaged(const std::string& path, std::string_view what) {
  throw ArgumentError(fmt::format("{}: not a readable .npy file: {}", path, what));
}

/// The text after `'key':` in the header's dictionary; the format is fixed enough that NumPy itself writes it
/// by hand.
std::string_view value_of(std::string_view header, std::string_view key, const std::string& path) {
  const auto at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) damaged(path, fmt::format("its header has no '{}'", key));
  const auto colon = header.find(':', at);
  if (colon == std::string_view::npos) damaged(path, "its header is cut off");
  auto value = header.substr(colon + 1);
  value.remove_prefix(std::min(value.size(), value.find_first_not_of(' ')));
  return value;
}

/// A tuple of numbers; Python 2 wrote long ones as 3L.
std::vector<std::int64_t> parse_shape(std::string_view text, const std::string& path) {
  std::vector<std::int64_t> shape;
  const auto close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos)
    damaged(path, "its shape is not a tuple");
  for (std::string_view rest = text.substr(1, close - 1); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view extent = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (!extent.empty() && extent.front() == ' ') extent.remove_prefix(1);
    while (!extent.empty() && (extent.back() == ' ' || extent.back() == 'L')) extent.remove_suffix(1);
    if (extent.empty() && rest.empty()) break;  // (3,) and ()
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(extent.data(), extent.data() + extent.size(), value);
    if (error != std::errc() || end != extent.data() + extent.size() || value < 0)
      damaged(path, fmt::format("its shape {} has '{}' for an extent", text.substr(0, close + 1), extent));
    if (value > (std::int64_t{1} << 40)) damaged(path, "its shape has a huge extent");
    shape.push_back(value);
  }
  return shape;
}

bool parse_bool(std::string_view text, const std::string& path) {
  if (text.starts_with("True")) return true;
  if (!text.starts_with("False")) damaged(path, "its fortran_order is neither True nor False");
  return false;
}

bool readable_as(DType file, DType wanted) {
  const bool rounds = file == DType::f32 && (wanted == DType::f16 || wanted == DType::bf16);
  const bool widens = wanted == DType::f32 && (file == DType::f16 || file == DType::bf16);
  return file == wanted || rounds || widens;
}

/// Checks that the data is there before memory is allocated for it. The length of a pipe is unknown, so it is
/// simply read.
void check_length(std::istream& in, const std::string& path, DType dtype,
                  const std::vector<std::int64_t>& shape) {
  const auto at = in.tellg();
  if (at < 0 || !in.seekg(0, std::ios::end)) return in.clear();
  const auto left = static_cast<double>(in.tellg() - at);
  in.seekg(at);
  double wanted = dtype_bytes(dtype);
  for (const std::int64_t extent : shape) wanted *= static_cast<double>(extent);
  if (left < wanted)
    throw ArgumentError(fmt::format("{}: is cut off: {:.0f} of {:.0f} data bytes; copy or save it again",
                                    path, left, wanted));
}

std::ifstream open(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  int reason = errno;
  std::error_code error;
  if (in && std::filesystem::is_directory(path, error)) reason = EISDIR;  // it opens, and then cannot be read
  if (!in || reason == EISDIR)
    throw ArgumentError(fmt::format("{}: cannot be read: {}", path, std::strerror(reason)));
  return in;
}

std::string npy_header(const HostTensor& tensor) {
  // As Python prints a tuple: (), (2,), (2, 3).
  const std::string extents =
      fmt::format("{}{}", fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   file_descr(tensor.dtype), extents);
  // NumPy pads the header so that the data starts at a multiple of 64.
  constexpr std::size_t kFixed = 10;
  header.append(63 - (kFixed + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string start(kMagic);
  start += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return start + header;
}

HostTensor widened(const HostTensor& tensor) {
  HostTensor wide(tensor.name, DType::f32, tensor.shape);
  tensor.widen(0, tensor.elements(), reinterpret_cast<float*>(wide.bytes.data()));
  return wide;
}

std::string_view bytes_of(const HostTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

}  // namespace

NpyHeader read_npy_header(std::istream& in, const std::string& path) {
  std::array<char, 8> start{};
  in.read(start.data(), start.size());
  const std::string_view begin(start.data(), static_cast<std::size_t>(in.gcount()));
  if (begin.empty()) damaged(path, "it is empty");
  if (begin.starts_with("PK"))
    damaged(path, "it is a ZIP archive, as .npz files are; save one array by np.save");
  if (begin.substr(0, kMagic.size()) != kMagic.substr(0, begin.size()))
    damaged(path, "it does not start with \\x93NUMPY; save it by np.save");
  if (!in) damaged(path, fmt::format("it ends after {} bytes, within its header", begin.size()));
  const int major = static_cast<unsigned char>(start[6]);
  if (major < 1 || major > 3)
    damaged(path, fmt::format("format version {} is unknown; versions 1 to 3 are read", major));
  std::array<unsigned char, 4> size_bytes{};
  const std::size_t size_length = major == 1 ? 2 : 4;
  in.read(reinterpret_cast<char*>(size_bytes.data()), static_cast<std::streamsize>(size_length));
  if (!in)
    damaged(path, fmt::format("it ends after {} bytes, within its header",
                              start.size() + static_cast<std::size_t>(in.gcount())));
  std::size_t size = 0;
  for (std::size_t i = 0; i < size_length; ++i) size |= static_cast<std::size_t>(size_bytes[i]) << (8 * i);
  if (size > kMaxHeader)
    damaged(path, fmt::format("its header has {} bytes; at most {} are read", size, kMaxHeader));
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in) damaged(path, fmt::format("its header is cut off: {} of {} bytes", in.gcount(), size));

  NpyHeader header;
  header.data_offset = start.size() + size_length + size;
  const auto descr = value_of(text, "descr", path);
  const char quote = descr.empty() ? ' ' : descr[0];
  const auto close = descr.find(quote, 1);
  if ((quote != '\'' && quote != '"') || close == std::string_view::npos) {
    damaged(path, "it holds records, not plain numbers; save one of its fields");
  }
  header.descr = descr.substr(1, close - 1);
  header.fortran_order = parse_bool(value_of(text, "fortran_order", path), path);
  header.shape = parse_shape(value_of(text, "shape", path), path);
  return header;
}

NpyHeader read_npy_header(const std::string& path) {
  std::ifstream in = open(path);
  return read_npy_header(in, path);
}

HostTensor read_npy(const std::string& path, const std::string& name, DType dtype,
                    const std::vector<std::int64_t>& shape) {
  std::ifstream in = open(path);
  return read_npy(in, path, name, dtype, shape);
}

HostTensor read_npy(std::istream& in, const std::string& path, const std::string& name, DType dtype,
                    const std::vector<std::int64_t>& shape) {
  const NpyHeader header = read_npy_header(in, path);
  const auto found = file_dtype(header.descr);
  if (!found || !readable_as(*found, dtype)) {
    throw ArgumentError(fmt::format("{}: holds {}, tensor '{}' is {}; save it with .astype({})", path,
                                    describe_descr(header.descr), name, dtype_name(dtype),
                                    numpy_type(dtype)));
  }
  if (header.shape != shape) {
    throw ArgumentError(fmt::format("{}: has shape {}, tensor '{}' is {} for this problem", path,
                                    print_shape(header.shape), name, print_shape(shape)));
  }
  if (header.fortran_order && shape.size() > 1) {
    throw ArgumentError(fmt::format("{}: is in Fortran order; save it with np.ascontiguousarray(...)", path));
  }

  check_length(in, path, *found, shape);
  HostTensor from_file(name, *found, shape);
  in.read(reinterpret_cast<char*>(from_file.bytes.data()),
          static_cast<std::streamsize>(from_file.bytes.size()));
  if (static_cast<std::size_t>(in.gcount()) != from_file.bytes.size()) {
    throw ArgumentError(fmt::format("{}: is cut off: {} of {} data bytes; copy or save it again", path,
                                    in.gcount(), from_file.bytes.size()));
  }
  if (dtype == DType::boolean)  // NumPy writes 0 and 1; a kernel may look at the lowest bit alone
    for (std::byte& byte : from_file.bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
  if (*found == dtype) return from_file;
  HostTensor converted(name, dtype, shape);
  for (std::int64_t i = 0; i < converted.elements(); ++i) converted.set(i, from_file.get(i));
  return converted;
}

void write_npy(const std::string& path, const HostTensor& tensor) {
  if (tensor.dtype == DType::bf16) return write_npy(path, widened(tensor));
  const std::string header = npy_header(tensor);
  const std::string_view pieces[] = {header, bytes_of(tensor)};
  write_output(path, pieces);
}

void write_npy(std::ostream& out, const HostTensor& tensor) {
  if (tensor.dtype == DType::bf16) return write_npy(out, widened(tensor));
  out << npy_header(tensor) << bytes_of(tensor);
}

}  // namespace fa::tools
