#include "runtime/system/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "fa/error.h"
#include "runtime/system/aside.h"
#include "runtime/system/files.h"

namespace fa {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kReadable = 0666;  // less the umask
constexpr mode_t kPermissions = 0777;

/// Where the links of a path end.
struct Destination {
  fs::path path;
  int descriptor = -1;  // of this process, where the path is its name in /proc/self/fd
};

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

/// The number of a descriptor that is named in /proc/self/fd, else -1. The text of such a link is no path for
/// a pipe; for a file it is a path that others may have replaced since the file was opened.
int own_descriptor(const fs::path& path) {
  std::error_code error;
  if (!fs::equivalent(folder_of(path), "/proc/self/fd", error) || error) return -1;
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  return failed == std::errc() && end == name.data() + name.size() ? number : -1;
}

/// Follows links, also to a name that does not exist yet.
Destination follow(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows; where there are more, opening the path says so
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, error); ++links) {
    if (const int descriptor = own_descriptor(path); descriptor >= 0) return {path, descriptor};
    path = folder_of(path) / fs::read_symlink(path, error);  // an absolute target replaces the folder
    if (error) break;
  }
  return {path};
}

std::string write_in_place(int descriptor, std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces)
    if (!write_all(descriptor, piece)) return std::strerror(errno);
  return {};
}

std::string write_device(const std::string& path, std::span<const std::string_view> pieces) {
  File file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return std::strerror(errno);
  std::string problem = write_in_place(file.get(), pieces);
  if (problem.empty() && !file.close_now()) problem = std::strerror(errno);
  return problem;
}

/// What is at the end of a path.
struct Found {
  Destination place;
  bool exists = false;
  struct stat status = {};
  std::string problem = {};  // why it cannot be written; empty: nothing is known against it
};

Found look_at(const std::string& path) {
  Found found;
  found.place = follow(path);
  const std::string& name = found.place.path.native();
  if (found.place.descriptor >= 0) return found;
  const fs::path folder = folder_of(found.place.path);
  found.exists = stat(name.c_str(), &found.status) == 0;
  if (!found.exists && errno != ENOENT) {
    found.problem = std::strerror(errno);
  } else if (!found.exists && faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) != 0) {
    found.problem = fmt::format("{}: {}", folder.string(), std::strerror(errno));
  } else if (found.exists && S_ISDIR(found.status.st_mode)) {
    found.problem = std::strerror(EISDIR);
    // Renaming needs only the folder's permission, so it would replace even a file that its owner protected.
  } else if (found.exists && S_ISREG(found.status.st_mode) &&
             faccessat(AT_FDCWD, name.c_str(), W_OK, AT_EACCESS) != 0) {
    found.problem = std::strerror(errno);
  }
  return found;
}

/// Why it could not be written; empty where it was.
std::string write_to(const std::string& path, std::span<const std::string_view> pieces) {
  const Found found = look_at(path);
  const Destination& place = found.place;
  if (!found.problem.empty()) return found.problem;
  if (place.descriptor >= 0) return write_in_place(place.descriptor, pieces);
  if (found.exists && !S_ISREG(found.status.st_mode)) return write_device(place.path, pieces);
  remove_abandoned(folder_of(place.path));
  const Ownership ownership = {.mode = found.exists ? found.status.st_mode & kPermissions : kReadable,
                               .is_exact = found.exists,
                               .user = found.exists ? found.status.st_uid : kNoId,
                               .group = found.exists ? found.status.st_gid : kNoId};
  return replace_file(folder_of(place.path), place.path.filename(), pieces, ownership);
}

/// Without links, `.` and `..`; only where a regular file is or could be, or a named pipe is.
fs::path unshared_path(const std::string& path) {
  std::error_code error;
  const Destination place = follow(path);
  const bool is_special =
      place.descriptor >= 0 || (fs::exists(place.path, error) && !fs::is_regular_file(place.path, error) &&
                                !fs::is_fifo(place.path, error));
  return is_special ? fs::path() : fs::weakly_canonical(fs::absolute(place.path, error), error);
}

}  // namespace

void write_output(const std::string& path, std::span<const std::string_view> pieces) {
  const std::string problem = write_to(path, pieces);
  if (!problem.empty()) throw Error(fmt::format("{}: cannot be written: {}", path, problem));
}

void write_output(const std::string& path, std::string_view bytes) {
  write_output(path, std::span(&bytes, 1));
}

void check_output(const std::string& path) {
  const std::string problem = look_at(path).problem;
  if (!problem.empty()) throw Error(fmt::format("{}: cannot be written: {}", path, problem));
}

bool is_same_output(const std::string& a, const std::string& b) {
  const fs::path first = unshared_path(a);
  return !first.empty() && first == unshared_path(b);
}

}  // namespace fa
