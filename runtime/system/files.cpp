#include "runtime/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/system/aside.h"

namespace fa {
namespace {

/// A new file that nobody else has: machines and processes may write to one folder at once.
int create_aside(const std::string& folder, mode_t mode, std::string& path) {
  for (int attempt = 0;; ++attempt) {
    path = fmt::format("{}/{}", folder, aside_name(getpid()));
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0 || errno != EEXIST || attempt == 100) return descriptor;
  }
}

}  // namespace

bool beyond_file_limit(std::size_t bytes) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

std::string because(std::string_view what, int error) {
  return fmt::format("{}: {}", what, std::strerror(error));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = EIO;  // a regular file takes at least a byte, or says why not
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool File::close_now() { return close(std::exchange(descriptor_, -1)) == 0; }

bool read_more(int descriptor, std::size_t count, std::string& bytes) {
  std::size_t at = bytes.size();
  bytes.resize(at + count);
  while (at < bytes.size()) {
    const ssize_t got = read(descriptor, bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO;  // it became shorter meanwhile
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

std::optional<std::string> read_all(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return std::nullopt;
  }
  std::string bytes;
  if (!read_more(descriptor, static_cast<std::size_t>(status.st_size), bytes)) return std::nullopt;
  return bytes;
}

std::optional<std::string> read_whole_file(const std::string& path, std::string& problem) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::optional<std::string> bytes = file.get() < 0 ? std::nullopt : read_all(file.get());
  if (!bytes) problem = std::strerror(errno);
  return bytes;
}

std::string replace_file(const std::string& folder, const std::string& name, std::string_view bytes,
                         mode_t mode) {
  return replace_file(folder, name, std::span(&bytes, 1), {.mode = mode});
}

std::string replace_file(const std::string& folder, const std::string& name,
                         std::span<const std::string_view> pieces, const Ownership& ownership) {
  std::size_t size = 0;
  for (const std::string_view piece : pieces) size += piece.size();
  if (beyond_file_limit(size)) return "the process' file size limit (ulimit -f) is smaller than the file";
  std::string aside;
  File file(create_aside(folder, ownership.mode, aside));
  if (file.get() < 0) return because(folder, errno);
  // Before the mode, of which a change of owner may take bits. Where it is refused, the file is our own.
  [[maybe_unused]] const int refused = fchown(file.get(), ownership.user, ownership.group);
  const auto write_pieces = [&] {
    return std::ranges::all_of(pieces, [&](std::string_view piece) { return write_all(file.get(), piece); });
  };
  std::string problem;
  if ((ownership.is_exact && fchmod(file.get(), ownership.mode) != 0) || !write_pieces() ||
      fsync(file.get()) != 0 || !file.close_now() ||
      rename(aside.c_str(), fmt::format("{}/{}", folder, name).c_str()) != 0) {
    problem = because(folder, errno);
    unlink(aside.c_str());
  }
  return problem;
}

}  // namespace fa
