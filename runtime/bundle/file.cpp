#include "runtime/bundle/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/system/files.h"
#include "runtime/system/output.h"

namespace fa {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_read(const std::string& path, std::string_view why) {
  throw BundleError(fmt::format(
      "{}: cannot be read: {}; name a file that `facet build -o` wrote, or its folder", path, why));
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// A bundle that its own reader refuses must not take a good one's place.
void check_readable(std::string_view bytes, const std::string& path) {
  try {
    decode_bundle(bytes, path);
  } catch (const BundleError& error) {
    throw InternalError(
        fmt::format("this bundle could not be read back, and is not written: {}", error.what()));
  }
}

}  // namespace

std::string bundle_file(const std::string& path) {
  return is_folder(path) ? (fs::path(path) / kBundleFile).string() : path;
}

BundleContents read_bundle(const std::string& path) {
  // Not blocking: a pipe that nobody writes to would be waited for, only to be refused.
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) cannot_read(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) cannot_read(path, "it is no regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  constexpr std::uint64_t kStart = 64;
  std::string bytes;
  const auto read_to = [&](std::uint64_t end) {
    if (!read_more(file.get(), end - bytes.size(), bytes)) cannot_read(path, std::strerror(errno));
  };
  read_to(std::min(size, kStart));
  read_to(manifest_end(bytes, size, path));
  check_manifest(bytes, path);
  read_to(size);
  return decode_bundle(bytes, path);
}

std::string write_bundle(const std::string& path, const BundleContents& contents) {
  const bool is_in_folder = path.ends_with('/') || is_folder(path);
  const std::string target = is_in_folder ? (fs::path(path) / kBundleFile).string() : path;
  const std::string bytes = encode_bundle(contents);
  check_readable(bytes, target);
  std::error_code error;
  if (is_in_folder) fs::create_directories(path, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}", path, error.message()));
  write_output(target, bytes);
  return target;
}

}  // namespace fa
