#include "runtime/store/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "runtime/store/trust.h"
#include "runtime/system/aside.h"
#include "runtime/system/files.h"
#include "runtime/system/options.h"

namespace fa {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStaleSeconds =
    3600;  // an aside file this old belongs to nobody, whosever machine it is from
constexpr mode_t kPrivate = 0600, kShared = 0644;

struct Found {
  std::string path;
  Key key;
  std::int64_t bytes = 0;
  timespec used = {};
};

bool used_earlier(const Found& a, const Found& b) {
  if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec < b.used.tv_sec;
  if (a.used.tv_nsec != b.used.tv_nsec) return a.used.tv_nsec < b.used.tv_nsec;
  return a.path < b.path;
}

/// The entries of a folder, the longest unused first, and what else has an entry's name: a FIFO, say. Removes
/// aside files that a process left when it died.
std::vector<Found> scan(const std::string& folder) {
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::optional<Key> key = key_of_file(name);
    const bool aside = name.starts_with(kAside);
    if (!key && !aside) continue;
    struct stat status = {};
    if (lstat(at->path().c_str(), &status) != 0) continue;  // gone meanwhile
    const bool is_file = S_ISREG(status.st_mode);
    if (aside) {
      if (!is_file) continue;
      if (is_abandoned(name) || status.st_mtim.tv_sec + kStaleSeconds < std::time(nullptr))
        unlink(at->path().c_str());
      continue;
    }
    found.push_back({.path = at->path().string(),
                     .key = *key,
                     .bytes = is_file ? status.st_size : 0,
                     .used = status.st_mtim});
  }
  std::sort(found.begin(), found.end(), used_earlier);
  return found;
}

}  // namespace

/// Why the folder's entries may be somebody else's, or empty.
std::string DiskCache::distrust() const {
  struct stat status = {};
  if (shared_ || stat(folder_.c_str(), &status) != 0) return {};
  const std::string others = others_in(status);
  if (others.empty()) return {};
  return fmt::format(
      "{}: {}, and a kernel is a program: chmod go-w it, choose another (FA_CACHE_DIR), or say that its "
      "users "
      "trust each other (FA_CACHE_SHARED=1)",
      folder_, others);
}

std::optional<CacheEntry> DiskCache::read_entry(const std::string& path, const Key& key, bool mark_used,
                                                std::string& problem) const {
  // Without O_NONBLOCK a FIFO in its place would be waited for.
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    problem = errno == ENOENT ? "no entry" : std::strerror(errno);
    return std::nullopt;
  }
  problem = !S_ISREG(status.st_mode) ? "no regular file" : shared_ ? std::string() : others_in(status);
  if (!problem.empty()) return std::nullopt;
  const std::optional<std::string> bytes = read_all(file.get());
  if (!bytes) problem = std::strerror(errno);
  std::optional<CacheEntry> entry = bytes ? decode_entry(key, *bytes) : std::nullopt;
  if (bytes && !entry) problem = "damaged";
  if (entry && mark_used)
    futimens(file.get(), nullptr);  // in a read-only folder the order of use stays as it is
  return entry;
}

std::optional<CacheEntry> DiskCache::get(const Key& key, std::string* why_not) const {
  if (folder_.empty()) return std::nullopt;
  std::string problem = distrust();
  const std::string path = fmt::format("{}/{}", folder_, file_of_key(key));
  std::optional<CacheEntry> entry = problem.empty() ? read_entry(path, key, true, problem) : std::nullopt;
  if (why_not != nullptr) *why_not = problem;
  return entry;
}

std::string DiskCache::make_folder() const {
  if (folder_.empty()) return "there is no folder for it: set FA_CACHE_DIR, or HOME";
  std::error_code error;
  if (fs::is_directory(folder_, error)) return distrust();
  fs::create_directories(folder_, error);
  if (error) return fmt::format("{}: {}", folder_, error.message());
  // The mode is set independently of the umask, which may let the group write.
  if (!shared_) fs::permissions(folder_, fs::perms::owner_all, error);
  return {};
}

std::string DiskCache::put(const Key& key, const CacheEntry& entry) const {
  const std::string bytes = encode_entry(key, entry);
  if (static_cast<std::int64_t>(bytes.size()) > limit_)
    return fmt::format("the entry's {} bytes are more than the cache may hold (FA_CACHE_SIZE)", bytes.size());
  if (std::string problem = make_folder(); !problem.empty()) return problem;
  const std::string name = file_of_key(key);
  if (std::string problem = replace_file(folder_, name, bytes, shared_ ? kShared : kPrivate);
      !problem.empty()) {
    std::error_code error;
    const std::string path = fmt::format("{}/{}", folder_, name);
    return fs::is_directory(path, error) ? path + ": a folder has the entry's name: remove it" : problem;
  }
  evict(key);
  return {};
}

void DiskCache::evict(const Key& keep) const {
  const std::vector<Found> found = scan(folder_);
  std::int64_t total = 0;
  for (const Found& file : found) total += file.bytes;
  for (const Found& file : found) {
    if (total <= limit_) return;
    if (file.key == keep) continue;
    unlink(file.path.c_str());
    total -= file.bytes;
  }
}

std::vector<CacheFile> DiskCache::list() const {
  std::vector<CacheFile> out;
  for (const Found& found : scan(folder_)) {
    CacheFile file = {.key = found.key.hex(),
                      .label = {},
                      .bytes = found.bytes,
                      .last_used = found.used.tv_sec,
                      .problem = distrust()};
    if (file.problem.empty())
      if (std::optional<CacheEntry> entry = read_entry(found.path, found.key, false, file.problem))
        file.label = std::move(entry->label);
    out.push_back(std::move(file));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

CacheStats DiskCache::stats() const {
  CacheStats stats = {.folder = folder_, .entries = 0, .bytes = 0, .limit = limit_, .problem = {}};
  for (const Found& found : scan(folder_)) {
    ++stats.entries;
    stats.bytes += found.bytes;
  }
  stats.problem = make_folder();
  if (stats.problem.empty()) {
    // Only an attempt to write shows missing permissions, a full disk or a quota.
    constexpr std::string_view kProbe = ".probe";
    stats.problem = replace_file(folder_, std::string(kProbe), kProbe, kPrivate);
    if (stats.problem.empty()) unlink(fmt::format("{}/{}", folder_, kProbe).c_str());
  }
  if (stats.problem.empty() && limit_ <= 0) stats.problem = "FA_CACHE_SIZE is 0";
  return stats;
}

int DiskCache::clear() const {
  int removed = 0;
  for (const Found& found : scan(folder_)) removed += unlink(found.path.c_str()) == 0 ? 1 : 0;
  return removed;
}

DiskCache open_cache(const std::string& folder) {
  return DiskCache(folder, environment().cache_size, environment().cache_shared);
}

}  // namespace fa
