// Whose entries the disk cache uses. A kernel that another user could replace is a program of that user's.
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/store/cache.h"
#include "tests/catch.h"
#include "tests/runtime/store/entries.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tests;

TEST_CASE("cache: what others may have written is not used", "[cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), kRoomy), shared(folder.path(), kRoomy, true);
  REQUIRE(cache.put(key_of(1), entry_of(1)).empty());
  struct stat status = {};
  REQUIRE(stat(file_of(folder, 1).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  std::string why;
  for (const mode_t mode : {0620, 0602, 0666}) {
    REQUIRE(chmod(file_of(folder, 1).c_str(), mode) == 0);
    CHECK_FALSE(cache.get(key_of(1), &why));
    CHECK(why == "others may write to it");
    CHECK(cache.list().at(0).problem == "others may write to it");
    CHECK(holds(shared, 1));
  }
  REQUIRE(chmod(file_of(folder, 1).c_str(), 0600) == 0);
  CHECK(holds(cache, 1));

  for (const mode_t mode : {0770, 0707, 01777}) {
    REQUIRE(chmod(folder.path().c_str(), mode) == 0);
    CHECK_FALSE(cache.get(key_of(1), &why));
    for (const std::string& problem : {why, cache.put(key_of(2), entry_of(2)), cache.stats().problem}) {
      INFO(problem);
      CHECK(problem.find("others may write to it") != std::string::npos);
      CHECK(problem.find("FA_CACHE_SHARED=1") != std::string::npos);
    }
    CHECK(holds(shared, 1));
  }
  CHECK(shared.put(key_of(2), entry_of(2)).empty());
  REQUIRE(stat(file_of(folder, 2).c_str(), &status) == 0);
  CHECK((status.st_mode & 0444) == 0444);  // for all to read
  REQUIRE(chmod(folder.path().c_str(), 0700) == 0);

  if (geteuid() != 0) {
    skip("files of another user, which only root can make");
    return;
  }
  constexpr uid_t kNobody = 65534;
  REQUIRE(chown(file_of(folder, 1).c_str(), kNobody, kNobody) == 0);
  CHECK_FALSE(cache.get(key_of(1), &why));
  CHECK(why == "belongs to another user");
  CHECK(holds(shared, 1));
  REQUIRE(chown(file_of(folder, 1).c_str(), 0, 0) == 0);
  REQUIRE(chown(folder.path().c_str(), kNobody, kNobody) == 0);
  CHECK_FALSE(cache.get(key_of(1), &why));
  CHECK(why.find("belongs to another user") != std::string::npos);
}

TEST_CASE("cache: the folder it makes is the user's alone, whatever the umask", "[cache]") {
  const TemporaryFolder folder;
  const DiskCache cache(folder / "deep/cache", kRoomy);
  const mode_t before = umask(0002);
  CHECK(cache.put(key_of(1), entry_of(1)) == "");
  umask(before);
  CHECK(holds(cache, 1));
}
