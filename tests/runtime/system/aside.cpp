// Files that killed processes left beside their outputs are removed; files that other processes are still
// writing stay.
#include "runtime/system/aside.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/store/cache.h"
#include "runtime/system/output.h"
#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

namespace {

/// The number of a process that has ended and been waited for.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

}  // namespace

TEST_CASE("a file aside is abandoned where its process of this machine is gone", "[runtime][faults]") {
  const std::string ended = aside_name(dead_process());
  CHECK(is_abandoned(ended));
  CHECK_FALSE(is_abandoned(aside_name(getpid())));
  CHECK_FALSE(is_abandoned(aside_name(1)));  // another user's, perhaps
  // Another machine's, another version's, and what only begins alike.
  const std::size_t machine = std::string(kAside).size();
  CHECK_FALSE(is_abandoned(ended.substr(0, machine) + "0" + ended.substr(machine)));
  CHECK_FALSE(is_abandoned(".aside-99999999-1f"));
  for (const char* odd : {"", ".aside-", ".aside-old", "o.npy"}) CHECK_FALSE(is_abandoned(odd));
  CHECK_FALSE(is_abandoned(ended.substr(0, ended.rfind('-'))));
}

TEST_CASE("the next output and the next look at a cache remove what is abandoned", "[runtime][faults]") {
  const TemporaryFolder folder;
  const std::string ended = folder / aside_name(dead_process()), ours = folder / aside_name(getpid());
  const auto leave = [&] {
    for (const std::string& path : {ended, ours}) write_file(path, "a part");
  };
  leave();
  write_output(folder / "o.npy", "whole");
  CHECK(read_file(folder / "o.npy") == "whole");
  CHECK_FALSE(std::filesystem::exists(ended));
  CHECK(std::filesystem::exists(ours));
  leave();
  CHECK(DiskCache(folder.path(), 1 << 20).list().empty());
  CHECK_FALSE(std::filesystem::exists(ended));
  CHECK(std::filesystem::exists(ours));
}
