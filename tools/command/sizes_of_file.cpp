#include "tools/command/sizes_of_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <limits>

#include "fa/error.h"
#include "tools/problem/npy.h"

namespace fa::tools {

void sizes_of_file(const std::string& path, const std::string& name, std::optional<int>& heads,
                   std::optional<int>& length, std::optional<int>& batch) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error) &&
      !std::filesystem::is_directory(path, error))
    throw ArgumentError(fmt::format(
        "{}: is no regular file, and {} is read twice, first for its sizes: save it in a file", path, name));
  const NpyHeader header = read_npy_header(path);
  if (header.shape.size() != 4) {
    throw ArgumentError(
        fmt::format("{}: has shape {}, tensor '{}' has four dimensions: batch, heads, length, dim", path,
                    print_shape(header.shape), name));
  }
  const auto take = [&](std::optional<int>& value, std::size_t dimension) {
    if (value) return;
    if (header.shape[dimension] > std::numeric_limits<int>::max())
      throw ArgumentError(fmt::format("{}: its shape {} is larger than any problem: no size may be above {}",
                                      path, print_shape(header.shape), std::numeric_limits<int>::max()));
    value = static_cast<int>(header.shape[dimension]);
  };
  take(batch, 0);
  take(heads, 1);
  take(length, 2);
}

}  // namespace fa::tools
