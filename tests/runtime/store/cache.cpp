// The disk cache under difficult conditions: incomplete and damaged entries, a full disk, no permission,
// other processes and threads.
#include "runtime/store/cache.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/catch.h"
#include "tests/runtime/store/entries.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tests;

namespace {

/// Seconds since 1970 as the entry's time of use.
void set_used(const std::string& path, std::int64_t seconds) {
  const timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 0}, {.tv_sec = seconds, .tv_nsec = 0}};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

int files_in(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<int>(std::distance(begin(files), end(files)));
}

/// Runs `body` in a child process; its result is the child's exit status.
template <class Body>
pid_t in_child(Body body) {
  std::fflush(nullptr);  // ThreadSanitizer writes what is left when the child ends, under the child's limits
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

}  // namespace

TEST_CASE("what was put is got, by its key only", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder / "a/b", kRoomy);
  CHECK_FALSE(cache.get(key_of(1)));
  CHECK(cache.put(key_of(1), entry_of(1)).empty());
  CHECK(cache.put(key_of(2), entry_of(2, 0)).empty());
  CHECK(holds(cache, 1));
  CHECK(holds(cache, 2, 0));
  CHECK_FALSE(cache.get(key_of(3)));
  CHECK(cache.put(key_of(1), entry_of(1, 5)).empty());  // replaces
  CHECK(holds(cache, 1, 5));
}

TEST_CASE("a torn entry is a miss wherever it was torn, and is replaced", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  REQUIRE(cache.put(key_of(1), entry_of(1, 300)).empty());
  const std::string whole = read_file(file_of(folder, 1));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_file(file_of(folder, 1), whole.substr(0, length));
    INFO("cut to " << length << " of " << whole.size() << " bytes");
    REQUIRE_FALSE(cache.get(key_of(1)));
  }
  write_file(file_of(folder, 1), whole + "x");
  CHECK_FALSE(cache.get(key_of(1)));
  REQUIRE(cache.list().size() == 1);
  CHECK(cache.list()[0].problem == "damaged");
  CHECK(cache.put(key_of(1), entry_of(1, 300)).empty());
  CHECK(holds(cache, 1, 300));
  CHECK(cache.list()[0].problem == "");
}

TEST_CASE("an entry with any changed bit is a miss", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  REQUIRE(cache.put(key_of(1), entry_of(1, 200)).empty());
  const std::string whole = read_file(file_of(folder, 1));
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      INFO("byte " << byte << " bit " << bit);
      REQUIRE_FALSE(decode_entry(key_of(1), damaged));
    }
  }
  REQUIRE(decode_entry(key_of(1), whole));
  CHECK_FALSE(decode_entry(key_of(2), whole));  // under another's name
}

TEST_CASE("file names", "[runtime][cache]") {
  const Key key = {.high = 0x00ff, .low = 0xfedcba9876543210u};
  CHECK(file_of_key(key) == "00000000000000fffedcba9876543210.facet");
  CHECK(key_of_file(file_of_key(key)) == key);
  for (const char* other :
       {"", ".facet", "00.facet", "00000000000000fffedcba9876543210", ".probe",
        "00000000000000FFFEDCBA9876543210.facet", "00000000000000fffedcba987654321g.facet",
        "+0000000000000fffedcba9876543210.facet", "notes.txt"})
    CHECK_FALSE(key_of_file(other));
}

TEST_CASE("the longest unused entries go first", "[runtime][cache]") {
  const TemporaryFolder folder;
  const std::int64_t each = static_cast<std::int64_t>(encode_entry(key_of(1), entry_of(1)).size());
  const DiskCache cache(folder.path(), 3 * each);
  for (int number : {1, 2, 3}) REQUIRE(cache.put(key_of(number), entry_of(number)).empty());
  for (int number : {1, 2, 3}) set_used(file_of(folder, number), 1000 + number);
  CHECK(holds(cache, 1));  // used now: 2 is the oldest
  REQUIRE(cache.put(key_of(4), entry_of(4)).empty());
  CHECK_FALSE(cache.get(key_of(2)));
  CHECK(holds(cache, 1));
  CHECK(holds(cache, 3));
  CHECK(holds(cache, 4));
  CHECK(cache.stats().bytes == 3 * each);
}

TEST_CASE("an entry larger than the cache is not kept and drives nothing out", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), 2000);
  REQUIRE(cache.put(key_of(1), entry_of(1)).empty());
  CHECK(cache.put(key_of(2), entry_of(2, 5000)) ==
        "the entry's 5071 bytes are more than the cache may hold (FA_CACHE_SIZE)");
  CHECK(holds(cache, 1));
  const DiskCache none(folder.path(), 0);
  CHECK_FALSE(none.put(key_of(3), entry_of(3)).empty());
  CHECK(none.stats().problem == "FA_CACHE_SIZE is 0");
}

TEST_CASE("list, stats and clear know entries from other files", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  write_file(folder / "notes.txt", "mine");
  write_file(folder / ".aside-old", "left by a process that died");
  set_used(folder / ".aside-old", 1000);
  write_file(folder / ".aside-new", "another process is writing this");
  for (int number : {1, 2}) REQUIRE(cache.put(key_of(number), entry_of(number)).empty());
  set_used(file_of(folder, 1), 2000);
  set_used(file_of(folder, 2), 1000);
  write_file(file_of(folder, 3), "damaged");
  set_used(file_of(folder, 3), 500);
  const std::vector<CacheFile> files = cache.list();
  REQUIRE(files.size() == 3);
  CHECK(files[0].key == key_of(1).hex());
  CHECK(files[0].label == "entry 1");
  CHECK(files[0].last_used == 2000);
  CHECK(files[1].key == key_of(2).hex());
  CHECK(files[2].problem == "damaged");
  CHECK(files[2].label.empty());
  const CacheStats stats = cache.stats();
  CHECK(stats.entries == 3);
  CHECK(stats.bytes == files[0].bytes + files[1].bytes + 7);
  CHECK(stats.limit == kRoomy);
  CHECK(stats.folder == folder.path());
  CHECK(stats.problem.empty());
  CHECK_FALSE(std::filesystem::exists(folder / ".aside-old"));
  CHECK(cache.clear() == 3);
  CHECK(cache.stats().entries == 0);
  CHECK(std::filesystem::exists(folder / "notes.txt"));
  CHECK(std::filesystem::exists(folder / ".aside-new"));
  CHECK(files_in(folder) == 2);
}

TEST_CASE("without a folder there is no cache, and stats says why", "[runtime][cache]") {
  const DiskCache cache("", kRoomy);
  CHECK(cache.put(key_of(1), entry_of(1)) == "there is no folder for it: set FA_CACHE_DIR, or HOME");
  CHECK_FALSE(cache.get(key_of(1)));
  CHECK(cache.stats().problem == "there is no folder for it: set FA_CACHE_DIR, or HOME");
  CHECK(cache.list().empty());
  CHECK(cache.clear() == 0);
}

TEST_CASE("a file where the folder should be", "[runtime][cache]") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  const DiskCache cache(folder / "file/cache", kRoomy);
  CHECK(cache.put(key_of(1), entry_of(1)) == folder / "file/cache: Not a directory");
  CHECK_FALSE(cache.get(key_of(1)));
  CHECK(cache.stats().problem == folder / "file/cache: Not a directory");
}

TEST_CASE("a read-only folder still gives hits", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  REQUIRE(cache.put(key_of(1), entry_of(1)).empty());
  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  // Root writes anywhere, so the child becomes nobody first.
  const int status = wait_for(in_child([&] {
    if (getuid() == 0 && (chmod(file_of(folder, 1).c_str(), 0444) != 0 || setuid(65534) != 0)) return 1;
    if (cache.put(key_of(2), entry_of(2)) != folder.path() + ": Permission denied") return 2;
    if (!holds(cache, 1)) return 3;
    if (cache.get(key_of(2))) return 4;
    if (cache.stats().problem != folder.path() + ": Permission denied" || cache.stats().entries != 1)
      return 5;
    return cache.clear() == 0 ? 0 : 6;
  }));
  CHECK(status == 0);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a file size limit neither kills the process nor leaves a torn entry", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  const int status = wait_for(in_child([&] {
    const rlimit limit = {.rlim_cur = 512, .rlim_max = 512};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (cache.put(key_of(1), entry_of(1)) !=
        "the process' file size limit (ulimit -f) is smaller than the file")
      return 2;
    if (cache.get(key_of(1))) return 3;
    if (!cache.put(key_of(2), entry_of(2, 300)).empty()) return 4;
    return holds(cache, 2, 300) ? 0 : 5;
  }));
  CHECK(status == 0);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a disk without room leaves nothing behind", "[runtime][cache]") {
  const TemporaryFolder folder;
  const std::string mount = "mount -t tmpfs -o size=16k,mode=700 tmpfs '" + folder.path() + "' 2>/dev/null";
  if (getuid() != 0 || std::system(mount.c_str()) != 0) {
    skip("mounting a small tmpfs needs root");
    return;
  }
  {
    const DiskCache cache(folder.path(), kRoomy);
    CHECK(cache.put(key_of(1), entry_of(1)).empty());
    CHECK(cache.put(key_of(2), entry_of(2, 100000)) == folder.path() + ": No space left on device");
    CHECK(holds(cache, 1));
    CHECK_FALSE(cache.get(key_of(2)));
    CHECK(files_in(folder) == 1);
  }
  CHECK(std::system(("umount '" + folder.path() + "'").c_str()) == 0);
}

TEST_CASE("processes share a cache that is too small for all of them", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), 20000);
  std::vector<pid_t> children;
  for (int process = 0; process < 3; ++process) {
    children.push_back(in_child([&, process] {
      for (int round = 0; round < 150; ++round) {
        const int number = (round * 7 + process) % 40;
        if (!cache.put(key_of(number), entry_of(number)).empty()) return 1;
        // Another process may have removed the entry; if it exists, it must be complete.
        const int other = (round * 11 + process) % 40;
        if (cache.get(key_of(other)) && !holds(cache, other) && cache.get(key_of(other))) return 2;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) CHECK(wait_for(child) == 0);
  CHECK(cache.stats().bytes <= 20000);
  for (const CacheFile& file : cache.list()) CHECK(file.problem == "");
}

TEST_CASE("a process killed while it writes harms nobody", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = in_child([&] {
      for (int number = 0;; ++number)
        if (!cache.put(key_of(number % 4), entry_of(number % 4, 200000)).empty()) return 1;
    });
    usleep(3000u * static_cast<unsigned>(round));
    REQUIRE(kill(child, SIGKILL) == 0);
    wait_for(child);
    for (int number = 0; number < 4; ++number)
      CHECK((!cache.get(key_of(number)) || holds(cache, number, 200000)));
  }
}

TEST_CASE("threads put and get the same entries", "[runtime][cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 100; ++round) {
        const int number = (round + t) % 10;
        if (!cache.put(key_of(number), entry_of(number)).empty()) ++wrong;
        if (!holds(cache, number)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(files_in(folder) == 10);
}

TEST_CASE("cache: a FIFO in an entry's place is a miss, not waited for", "[cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  REQUIRE(mkfifo(file_of(folder, 1).c_str(), 0600) == 0);
  std::string why;
  CHECK_FALSE(cache.get(key_of(1), &why));
  CHECK(why == "no regular file");
  REQUIRE(cache.list().size() == 1);
  CHECK(cache.list().front().problem == "no regular file");
  CHECK(cache.put(key_of(1), entry_of(1)) == "");  // takes its place
  CHECK(holds(cache, 1));
  REQUIRE(mkfifo(file_of(folder, 2).c_str(), 0600) == 0);
  CHECK(cache.clear() == 2);
  CHECK(files_in(folder) == 0);
}

TEST_CASE("cache: a folder in an entry's place is named", "[cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  std::filesystem::create_directory(file_of(folder, 1));
  CHECK(cache.put(key_of(1), entry_of(1)) ==
        file_of(folder, 1) + ": a folder has the entry's name: remove it");
  REQUIRE(cache.list().size() == 1);
  CHECK(cache.list().front().problem == "no regular file");
  CHECK(cache.clear() == 0);
}

TEST_CASE("cache: a miss says why", "[cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy);
  std::string why;
  CHECK_FALSE(cache.get(key_of(1), &why));
  CHECK(why == "no entry");
  REQUIRE(cache.put(key_of(1), entry_of(1)).empty());
  CHECK(cache.get(key_of(1), &why));
  CHECK(why == "");
  std::string bytes = read_file(file_of(folder, 1));
  bytes[bytes.size() / 2] ^= 1;
  write_file(file_of(folder, 1), bytes);
  CHECK_FALSE(cache.get(key_of(1), &why));
  CHECK(why == "damaged");
}
