// The disk cache: built kernels by content, shared by every process of a user. A kernel that somebody else
// could replace is a program of theirs: an entry counts only where its file and its folder belong to this
// user, or to root, and nobody else may write to them; unless the user says that users trust each other.
//
// An entry is written aside, fsynced and renamed, so a reader sees all of it or none. A file with any fault
// counts as a miss, and the next put replaces it. Nothing here throws because of the disk: where it cannot be
// written there is no cache, and `stats` says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/store/cache_entry.h"

namespace fa {

struct CacheFile {
  std::string key;    // 32 digits
  std::string label;  // empty where the entry cannot be used
  std::int64_t bytes = 0;
  std::int64_t last_used = 0;  // seconds since 1970
  std::string problem;         // why it cannot be used, or empty
};

struct CacheStats {
  std::string folder;
  int entries = 0;
  std::int64_t bytes = 0;
  std::int64_t limit = 0;
  std::string problem;  // why nothing can be kept, or empty
};

class DiskCache {
 public:
  /// `folder` is made by the first put; empty: no cache. `limit`: bytes the entries may hold in all.
  /// `shared`: users who share the folder trust each other.
  DiskCache(std::string folder, std::int64_t limit, bool shared = false)
      : folder_(std::move(folder)), limit_(limit), shared_(shared) {}

  const std::string& folder() const { return folder_; }

  /// Returns the entry and marks it as used. Returns nothing where there is none, where it is damaged, or
  /// where somebody else may have written it; then `why_not`, if given, says which.
  std::optional<CacheEntry> get(const Key& key, std::string* why_not = nullptr) const;
  /// Keeps an entry, then removes the longest unused ones until all fit. Returns why it could not, or an
  /// empty string.
  std::string put(const Key& key, const CacheEntry& entry) const;

  /// Every entry, the last used first; reads and checks each.
  std::vector<CacheFile> list() const;
  CacheStats stats() const;
  /// Removes every entry (no other file); returns how many.
  int clear() const;

 private:
  void evict(const Key& keep) const;
  std::string make_folder() const;
  std::string distrust() const;
  std::optional<CacheEntry> read_entry(const std::string& path, const Key& key, bool mark_used,
                                       std::string& problem) const;

  std::string folder_;
  std::int64_t limit_ = 0;
  bool shared_ = false;
};

/// The cache in `folder`, with the size and the trust that the environment sets (FA_CACHE_SIZE,
/// FA_CACHE_SHARED); no cache where `folder` is empty.
DiskCache open_cache(const std::string& folder);

}  // namespace fa
