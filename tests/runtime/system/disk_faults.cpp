// The cache and bundles on a disk that fails at any call, and in processes that die at any call: what is read
// back is the old or the new, whole, or nothing.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "runtime/bundle/file.h"
#include "runtime/store/cache.h"
#include "tests/catch.h"
#include "tests/runtime/bundle/fixture.h"
#include "tests/runtime/system/faults.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

namespace {

constexpr std::int64_t kRoomy = 1 << 26;
constexpr int kErrors[] = {EIO, ENOSPC, EDQUOT, EACCES, EMFILE};

Key key_of(int number) { return {.high = 0xfeedu, .low = static_cast<std::uint64_t>(number)}; }

/// Every byte follows from `number` and `version`, so that a mixture of two shows.
CacheEntry entry_of(int number, int version, std::size_t bytes = 5000) {
  return {.label = fmt::format("{} {}", number, version), .payload = image_of(number * 7 + version, bytes)};
}

bool is(const std::optional<CacheEntry>& entry, const CacheEntry& wanted) {
  return entry && entry->label == wanted.label && entry->payload == wanted.payload;
}

int files_in(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<int>(std::distance(begin(files), end(files)));
}

int open_descriptors() { return files_in("/proc/self/fd"); }

/// Runs `body` in a child; whether it was killed.
template <class Body>
bool is_killed(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
  return WIFSIGNALED(status);
}

/// A file as another version of Facet would write it under the same name: a format of its own, checksums and
/// all.
std::string of_another_version(const Key& key, const CacheEntry& entry) {
  std::string bytes = encode_entry(key, entry);
  constexpr std::size_t kFormatAt = 8, kCheckAt = 48, kHeader = 64;
  const std::uint32_t format = kCacheFormat + 1;
  std::memcpy(bytes.data() + kFormatAt, &format, sizeof format);
  const std::string_view texts[] = {std::string_view(bytes).substr(0, kCheckAt), entry.label, entry.payload};
  const Key check = hash_texts(texts);
  std::memcpy(bytes.data() + kCheckAt, &check.high, 8);
  std::memcpy(bytes.data() + kCheckAt + 8, &check.low, 8);
  REQUIRE(bytes.size() == kHeader + entry.label.size() + entry.payload.size());
  return bytes;
}

}  // namespace

TEST_CASE("the shim counts the cache's calls and can fail any", "[runtime][faults]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  arm({});
  CHECK(cache.put(key_of(1), entry_of(1, 1)).empty());
  CHECK(disarm() == 5);  // open, write, fsync, close, rename
  arm({});
  CHECK(cache.get(key_of(1)));
  CHECK(disarm() == 5);  // open, fstat for the owner, fstat for the size, read, close
}

TEST_CASE("a put that fails at any call leaves the old entry and nothing else", "[runtime][faults]") {
  for (const int error : kErrors) {
    const TemporaryFolder folder;
    const DiskCache cache(folder.path(), kRoomy);
    REQUIRE(cache.put(key_of(1), entry_of(1, 1)).empty());
    const int descriptors = open_descriptors();
    for (int nth = 1; nth <= 5; ++nth) {
      INFO(std::strerror(error) << " at call " << nth);
      std::string problem;
      {
        const Armed armed({.fault = Fault::fail, .nth = nth, .error = error});
        problem = cache.put(key_of(1), entry_of(1, 2));
      }
      CHECK(problem == folder.path() + ": " + std::strerror(error));
      CHECK(is(cache.get(key_of(1)), entry_of(1, 1)));
      CHECK(files_in(folder.path()) == 1);
      CHECK(open_descriptors() == descriptors);
    }
    CHECK(cache.put(key_of(1), entry_of(1, 2)).empty());
    CHECK(is(cache.get(key_of(1)), entry_of(1, 2)));
  }
}

TEST_CASE("a get that fails at any call is a miss, and the entry is still there", "[runtime][faults]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  REQUIRE(cache.put(key_of(1), entry_of(1, 1)).empty());
  const int descriptors = open_descriptors();
  for (const int error : kErrors) {
    for (int nth = 1; nth <= 4; ++nth) {
      {
        const Armed armed({.fault = Fault::fail, .nth = nth, .error = error});
        CHECK_FALSE(cache.get(key_of(1)));
      }
      CHECK(is(cache.get(key_of(1)), entry_of(1, 1)));
      CHECK(open_descriptors() == descriptors);
    }
  }
}

TEST_CASE("short and interrupted transfers are taken up again", "[runtime][faults]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  {
    const Armed armed({.fault = Fault::half, .nth = 0});  // 5000 bytes take a dozen writes
    CHECK(cache.put(key_of(1), entry_of(1, 1)).empty());
    CHECK(is(cache.get(key_of(1)), entry_of(1, 1)));
  }
  CHECK(is(cache.get(key_of(1)), entry_of(1, 1)));
  {
    const Armed armed({.fault = Fault::fail, .nth = 2, .error = EINTR});  // the write
    CHECK(cache.put(key_of(2), entry_of(2, 1)).empty());
  }
  const Armed armed({.fault = Fault::fail, .nth = 4, .error = EINTR});  // the read
  CHECK(is(cache.get(key_of(2)), entry_of(2, 1)));
}

TEST_CASE("a put killed at any call leaves the old entry or the new", "[runtime][faults]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  for (const Fault fault : {Fault::kill, Fault::kill_halfway}) {
    REQUIRE(cache.put(key_of(1), entry_of(1, 0)).empty());
    int version = 0;
    for (int nth = 1; nth <= 5; ++nth) {
      INFO("call " << nth);
      CHECK(is_killed([&] {
        arm({.fault = fault, .nth = nth});
        cache.put(key_of(1), entry_of(1, version + 1));
      }));
      const bool is_renamed = fault == Fault::kill_halfway && nth == 5;
      if (is_renamed) ++version;
      CHECK(is(cache.get(key_of(1)), entry_of(1, version)));
    }
  }
}

TEST_CASE("a bundle that cannot be written, or is killed while it is, leaves the old one",
          "[runtime][faults]") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.facet-bundle";
  BundleContents other = sample_bundle();
  other.kernels.resize(1);
  const std::string old_bytes = encode_bundle(sample_bundle()), new_bytes = encode_bundle(other);
  write_bundle(path, sample_bundle());
  for (const int error : kErrors) {
    for (int nth = 1; nth <= 5; ++nth) {
      std::string problem;
      {
        const Armed armed({.fault = Fault::fail, .nth = nth, .error = error});
        problem = message_of<Error>([&] { write_bundle(path, other); });
      }
      CHECK(problem == path + ": cannot be written: " + folder.path() + ": " + std::strerror(error));
      CHECK(read_file(path) == old_bytes);
      CHECK(files_in(folder.path()) == 1);
    }
  }
  for (const Fault fault : {Fault::kill, Fault::kill_halfway}) {
    for (int nth = 1; nth <= 5; ++nth) {
      write_bundle(path, sample_bundle());
      CHECK(is_killed([&] {
        arm({.fault = fault, .nth = nth});
        write_bundle(path, other);
      }));
      CHECK(read_file(path) == (fault == Fault::kill_halfway && nth == 5 ? new_bytes : old_bytes));
      CHECK(load_bundle(path).entries().size() > 0);
    }
  }
  const Armed armed({.fault = Fault::fail, .nth = 3, .error = EIO});
  CHECK(message_of<BundleError>([&] {
          load_bundle(path);
        }).find(path + ": cannot be read: Input/output error; ") == 0);
}

TEST_CASE("two versions of Facet share one folder: each other's entries are misses", "[runtime][faults]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  REQUIRE(cache.put(key_of(1), entry_of(1, 1)).empty());
  write_file(folder / file_of_key(key_of(2)), of_another_version(key_of(2), entry_of(2, 1)));
  CHECK_FALSE(cache.get(key_of(2)));
  CHECK(is(cache.get(key_of(1)), entry_of(1, 1)));
  CHECK(cache.list().size() == 2);
  CHECK(cache.put(key_of(2), entry_of(2, 2)).empty());
  CHECK(is(cache.get(key_of(2)), entry_of(2, 2)));
}

namespace {

void kill_anywhere(int rounds) {
  constexpr int kKeys = 12, kVersions = 3;
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(),
                        40000);  // holds about seven of the entries, so that faults also hit removals
  std::mt19937 random(2026);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int killed = 0, hits = 0, wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const unsigned seed = random();
    const FaultPlan plan{.fault = draw(2) == 0 ? Fault::kill : Fault::kill_halfway, .nth = 1 + draw(40)};
    killed += is_killed([&] {
      std::mt19937 own(seed);
      arm(plan);
      for (int step = 0; step < 8; ++step) {
        const int number = static_cast<int>(own() % kKeys), version = static_cast<int>(own() % kVersions);
        const CacheEntry entry = entry_of(number, version, 100 + own() % 12000);
        switch (own() % 4) {
          case 0:
            cache.get(key_of(number));
            break;
          case 1:  // the other version writes without care for ours
            write_file(folder / file_of_key(key_of(number)), of_another_version(key_of(number), entry));
            break;
          default:
            cache.put(key_of(number), entry);
        }
      }
    });
    for (int number = 0; number < kKeys; ++number) {
      const std::optional<CacheEntry> entry = cache.get(key_of(number));
      if (!entry) continue;
      ++hits;
      bool is_one = false;
      for (int version = 0; version < kVersions; ++version)
        is_one = is_one || is(entry, entry_of(number, version, entry->payload.size()));
      if (!is_one) ++wrong;
    }
  }
  fmt::print("{} rounds, {} processes killed, {} entries read back, {} wrong\n", rounds, killed, hits, wrong);
  CHECK(killed > rounds / 2);
  CHECK(hits > rounds);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("500 processes killed anywhere in a shared cache: nothing wrong is read back",
          "[runtime][faults][slow]") {
  kill_anywhere(500);
}

TEST_CASE("2,000 processes killed anywhere in a shared cache: nothing wrong is read back",
          "[.][full][runtime][faults]") {
  kill_anywhere(2000);
}
