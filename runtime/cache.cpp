#include "runtime/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "runtime/files.h"

namespace fa {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStaleSeconds = 3600;  // an aside file this old belongs to nobody
constexpr mode_t kPrivate = 0600;  // a kernel that somebody else could replace is a program of theirs

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

/// The entries of a folder, the longest unused first. Removes aside files that a process left when it died.
std::vector<Found> scan(const std::string& folder) {
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::optional<Key> key = key_of_file(name);
    const bool aside = name.starts_with(kAside);
    if (!key && !aside) continue;
    struct stat status = {};
    if (lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;  // gone meanwhile
    if (aside) {
      if (status.st_mtim.tv_sec + kStaleSeconds < std::time(nullptr)) unlink(at->path().c_str());
      continue;
    }
    found.push_back(
        {.path = at->path().string(), .key = *key, .bytes = status.st_size, .used = status.st_mtim});
  }
  std::sort(found.begin(), found.end(), used_earlier);
  return found;
}

}  // namespace

std::optional<CacheEntry> DiskCache::get(const Key& key) const {
  if (folder_.empty()) return std::nullopt;
  const File file(open(fmt::format("{}/{}", folder_, file_of_key(key)).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  const std::optional<std::string> bytes = read_all(file.get());
  if (!bytes) return std::nullopt;
  std::optional<CacheEntry> entry = decode_entry(key, *bytes);
  if (entry) futimens(file.get(), nullptr);  // in a read-only folder the order of use stays as it is
  return entry;
}

std::string DiskCache::make_folder() const {
  if (folder_.empty()) return "there is no folder for it: set FA_CACHE_DIR, or HOME";
  std::error_code error;
  if (fs::is_directory(folder_, error)) return {};
  fs::create_directories(folder_, error);
  return error ? fmt::format("{}: {}", folder_, error.message()) : std::string();
}

std::string DiskCache::put(const Key& key, const CacheEntry& entry) const {
  const std::string bytes = encode_entry(key, entry);
  if (static_cast<std::int64_t>(bytes.size()) > limit_)
    return fmt::format("the entry's {} bytes are more than the cache may hold (FA_CACHE_SIZE)", bytes.size());
  if (std::string problem = make_folder(); !problem.empty()) return problem;
  if (std::string problem = replace_file(folder_, file_of_key(key), bytes, kPrivate); !problem.empty())
    return problem;
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
                      .damaged = true};
    const File opened(open(found.path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::optional<std::string> bytes = opened.get() < 0 ? std::nullopt : read_all(opened.get());
    if (std::optional<CacheEntry> entry = bytes ? decode_entry(found.key, *bytes) : std::nullopt) {
      file.label = std::move(entry->label);
      file.damaged = false;
    }
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
    // Permissions, a full disk and quotas all show only by writing.
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

}  // namespace fa
