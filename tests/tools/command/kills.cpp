// The command is killed at any moment: the file that it was writing is the old one, the new one, or absent,
// and never incomplete.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <random>

#include "runtime/build/nvrtc_find.h"
#include "runtime/bundle/file.h"
#include "runtime/store/cache.h"
#include "runtime/system/aside.h"
#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"
#include "tools/problem/npy.h"

using namespace fa;
using namespace fa::tools;

namespace {

using Clock = std::chrono::steady_clock;

/// Starts the command, kills it after `delay` where that is not zero, and waits for its end. Returns whether
/// it was killed.
bool run_for(const std::vector<std::string>& words, const std::string& cache,
             std::chrono::microseconds delay) {
  const std::string program = program_path("facet");
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const std::string cache_setting = "FA_CACHE_DIR=" + cache;
  std::vector<char*> environment = {const_cast<char*>(cache_setting.c_str())};
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("FA_CACHE_DIR=")) environment.push_back(*entry);
  environment.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);  // freopen would write what the parent has buffered
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0) _exit(3);
    execve(program.c_str(), argv.data(), environment.data());
    _exit(3);
  }
  if (delay.count() > 0) {
    usleep(static_cast<useconds_t>(delay.count()));
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
  return WIFSIGNALED(status);
}

std::ptrdiff_t files_aside(const std::string& folder) {
  return std::ranges::count_if(std::filesystem::directory_iterator(folder), [](const auto& file) {
    return file.path().filename().string().starts_with(kAside);
  });
}

/// A command, and a check that must succeed whenever it ends.
struct Killed {
  std::vector<std::string> words;
  std::function<void()> check;
};

/// Kills each command in turn, at a moment drawn from the time that it takes.
void kill_often(const std::vector<Killed>& commands, const std::string& cache, int kills) {
  std::mt19937 random(2026);
  std::vector<std::chrono::microseconds> takes;
  for (const Killed& command : commands) {
    run_for(command.words, cache, {});  // what has to be compiled is
    const auto start = Clock::now();
    run_for(command.words, cache, {});
    takes.push_back(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start));
    command.check();
  }
  int killed = 0;
  for (int i = 0; i < kills; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) % commands.size();
    const auto longest = static_cast<unsigned>(takes[at].count());
    killed += run_for(commands[at].words, cache, std::chrono::microseconds(1 + random() % longest)) ? 1 : 0;
    for (const Killed& command : commands) command.check();
  }
  CHECK(killed > kills / 4);
  WARN(killed << " of " << kills << " runs were killed");
}

void check_outputs_bundles_and_cache(int kills) {
  const TemporaryFolder folder;
  const std::string cache = folder.file("cache"), o = folder.file("o.npy"), bundle = folder.file("b");
  const auto check_cache = [&] {
    for (const CacheFile& file : DiskCache(cache, 1 << 30).list()) CHECK(file.problem == "");
  };
  // One key: the output is all that takes time. Two lengths of it, so that a mixture of old and new shows.
  const auto run = [&](int heads) {
    return Killed{
        {"run", source_path("specs/full.fa"), "--device", "host", "--dtype", "f32", "--head-dim", "64",
         "--heads", std::to_string(heads), "--q-len", "4096", "--kv-len", "1", "--repeat", "1", "--out", o},
        [&] {
          const auto shape = read_npy_header(o).shape;
          CHECK(shape[2] == 4096);
          CHECK(std::filesystem::file_size(o) == 128 + static_cast<std::uintmax_t>(shape[1]) * 4096 * 64 * 4);
        }};
  };
  const std::string source = folder.file("source.cu");
  const std::vector<std::string> emit = {"emit", source_path("specs/causal.fa"), "--gpu", "a100"};
  const std::string whole_source = facet(emit).out;
  const Killed emit_to_file{{emit[0], emit[1], emit[2], emit[3], "-o", source},
                            [&] { CHECK((read_file(source) == whole_source)); }};
  std::vector<Killed> commands = {
      run(1), run(2), emit_to_file, {{"cache", "clear"}, check_cache}, {{"cache", "list"}, check_cache}};
  if (!nvrtc_search().library.empty()) {
    for (const std::string archs : {"sm_80", "sm_80,sm_90a"})
      commands.push_back({{"build", source_path("specs/causal.fa"), "--arch", archs, "-o", bundle},
                          [&] { CHECK_NOTHROW(read_bundle(bundle)); }});
  } else {
    WARN("no bundles: " << nvrtc_search().problem);
  }
  kill_often(commands, cache, kills);
  // The next command that ends removes the files that killed ones have left.
  run_for(commands[0].words, cache, {});
  run_for({"cache", "list"}, cache, {});
  CHECK(files_aside(folder.file(".")) == 0);
  CHECK(files_aside(cache) == 0);
}

}  // namespace

TEST_CASE("the command killed at any moment leaves every good file whole", "[tools][faults]") {
  check_outputs_bundles_and_cache(60);
}

TEST_CASE("500 commands killed at any moment leave every good file whole", "[tools][faults][slow]") {
  check_outputs_bundles_and_cache(500);
}
