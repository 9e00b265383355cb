#include "runtime/tune/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "runtime/store/trust.h"
#include "runtime/system/aside.h"
#include "runtime/system/files.h"

namespace fa {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLockName = ".lock";

mode_t mode_of(bool shared) { return shared ? 0666 : 0600; }

/// Opens a file of the folder; where users share it, each may write to what the others made.
int open_file(const std::string& path, int flags, bool shared) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode_of(shared));
  if (descriptor >= 0 && shared)
    fchmod(descriptor, mode_of(shared));  // only its owner can; the umask was in the way
  return descriptor;
}

/// Holds the folder's lock. The file stays: whoever removed it would let two processes in.
class Lock {
 public:
  Lock(const std::string& folder, bool shared)
      : file_(open_file(fmt::format("{}/{}", folder, kLockName), O_RDWR | O_CREAT, shared)) {
    while (file_.get() >= 0 && flock(file_.get(), LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      problem_ = because(folder, errno);
      return;
    }
    if (file_.get() < 0) problem_ = because(folder, errno);
  }
  const std::string& problem() const { return problem_; }

 private:
  File file_;
  std::string problem_;
};

/// Writes `line` at the end of an open file of `size` bytes, or leaves it as it is.
std::string write_line(int descriptor, off_t size, std::string_view line, const std::string& path) {
  std::string bytes;
  char last = '\n';
  if (size > 0 && pread(descriptor, &last, 1, size - 1) != 1) return because(path, errno);
  if (last != '\n') bytes += '\n';  // a process was killed while it wrote
  bytes += line;
  bytes += '\n';
  if (write_all(descriptor, bytes)) return {};
  const std::string problem = because(path, errno);
  if (ftruncate(descriptor, size) != 0) return problem;  // the torn line is skipped by whoever reads
  return problem;
}

}  // namespace

std::string LineFile::distrust_folder() const {
  struct stat status = {};
  if (shared_ || stat(folder_.c_str(), &status) != 0) return {};
  const std::string others = others_in(status);
  if (others.empty()) return {};
  return fmt::format(
      "{}: {}, so its plans may be somebody else's: chmod go-w it, choose another (FA_TUNE_DIR), or say that "
      "its "
      "users trust each other (FA_CACHE_SHARED=1)",
      folder_, others);
}

std::string LineFile::make_folder() const {
  if (folder_.empty()) return "there is no folder for it: set FA_TUNE_DIR, or HOME";
  std::error_code error;
  if (fs::is_directory(folder_, error)) return distrust_folder();
  fs::create_directories(folder_, error);
  if (error) return fmt::format("{}: {}", folder_, error.message());
  if (!shared_) fs::permissions(folder_, fs::perms::owner_all, error);  // whatever the umask is
  return {};
}

std::optional<std::string> LineFile::read(std::string& problem) const {
  problem.clear();
  if (folder_.empty()) return std::string();
  problem = distrust_folder();
  if (!problem.empty()) return {};
  const File file(open(path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::string();
    problem = because(path(), errno);
    return {};
  }
  const std::string others = shared_ ? std::string() : others_in(status);
  if (!others.empty()) {
    problem = fmt::format("{}: {}", path(), others);
    return {};
  }
  std::optional<std::string> bytes = read_all(file.get());
  if (!bytes) problem = because(path(), errno);
  return bytes;
}

std::size_t LineFile::bytes() const {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path(), error);
  return error ? 0 : static_cast<std::size_t>(size);
}

std::string LineFile::append(std::string_view line) const {
  if (std::string problem = make_folder(); !problem.empty()) return problem;
  const Lock lock(folder_, shared_);
  if (!lock.problem().empty()) return lock.problem();
  File file(open_file(path(), O_RDWR | O_CREAT | O_APPEND, shared_));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return because(path(), errno);
  if (!S_ISREG(status.st_mode)) return path() + ": no regular file";
  if (const std::string others = shared_ ? std::string() : others_in(status); !others.empty())
    return fmt::format("{}: {}", path(), others);
  if (beyond_file_limit(static_cast<std::size_t>(status.st_size) + line.size() + 2))
    return "the process' file size limit (ulimit -f) is smaller than the file";
  if (std::string problem = write_line(file.get(), status.st_size, line, path()); !problem.empty())
    return problem;
  return file.close_now() ? std::string() : because(path(), errno);
}

std::string LineFile::update(const std::function<std::string(std::string_view)>& change) const {
  if (std::string problem = make_folder(); !problem.empty()) return problem;
  const Lock lock(folder_, shared_);
  if (!lock.problem().empty()) return lock.problem();
  remove_abandoned(folder_);
  std::string problem;
  const std::optional<std::string> bytes = read(problem);
  if (!bytes) return problem;
  const std::string changed = change(*bytes);
  if (changed == *bytes) return {};
  const std::string_view piece = changed;
  return replace_file(folder_, name_, std::span(&piece, 1), {.mode = mode_of(shared_), .is_exact = shared_});
}

}  // namespace fa
