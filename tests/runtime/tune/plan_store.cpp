// The store on a disk: several processes, processes that are killed, disks and folders that do not take it.
#include "runtime/tune/plan_store.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <random>

#include "tests/catch.h"
#include "tests/fastest.h"
#include "tests/runtime/system/faults.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using fa::tests::Armed;
using fa::tests::fastest;
using fa::tests::Fault;
using fa::tests::read_file;
using fa::tests::TemporaryFolder;
using fa::tests::write_file;

namespace {

TuneKey key_of(int spec) {
  return {.spec = fmt::format("spec{:04}", spec), .code = "c", .device = "d", .compiler = "l"};
}

TunedPlan tuned(int spec, const std::string& plan = "p", std::int64_t date = 5) {
  return {.key = key_of(spec),
          .label = "causal f32 d64 host",
          .problem = "B1 H8 N1024",
          .plan = plan,
          .ms = 1,
          .gain = 1.5,
          .default_plan = "default",
          .timed = 8,
          .of = 35,
          .finished = true,
          .date = date};
}

TunedTiming timing(int spec, int plan) {
  return {.key = key_of(spec),
          .problem = "b",
          .plan = fmt::format("plan{}", plan),
          .runs = 3,
          .ratio = 1,
          .ms = 1};
}

std::string plan_of(const PlanStore& store, const std::vector<TuneKey>& keys, std::string& problem) {
  const std::vector<TunedPlan> plans = store.find(keys, problem);
  const TunedPlan* const found = choose_first_tuned(plans, keys);
  return found != nullptr ? found->plan : "none";
}

std::string plan_of(const PlanStore& store, int spec) {
  std::string problem;
  const std::string found = plan_of(store, {key_of(spec)}, problem);
  return problem.empty() ? found : problem;
}

/// Runs `work` in a process of its own.
pid_t start(const std::function<void()>& work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);  // kill(-1) would reach every process
  if (child != 0) return child;
  work();
  _exit(0);
}

bool ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_root() { return geteuid() == 0; }

}  // namespace

TEST_CASE("a plan is found again, replaced and forgotten", "[tune][store]") {
  const TemporaryFolder folder;
  const PlanStore store(folder / "tuned");
  CHECK(plan_of(store, 1) == "none");
  CHECK(store.keep({tuned(1), tuned(2)}) == "");
  CHECK(plan_of(store, 1) == "p");
  CHECK(store.keep({tuned(1, "q", 6)}) == "");
  CHECK(store.keep({tuned(1, "older", 2)}) == "");
  CHECK(plan_of(store, 1) == "q");
  CHECK(plan_of(store, 2) == "p");
  CHECK(store.list().plans.size() == 2);
  CHECK(store.note(timing(1, 0)) == "");
  int dropped = 0;
  CHECK(store.forget({key_of(1).spec}, dropped) == "");
  CHECK(dropped == 1);
  CHECK(plan_of(store, 1) == "none");
  CHECK(plan_of(store, 2) == "p");
  CHECK(store.timings(key_of(1), "b").empty());
  CHECK(store.forget({}, dropped) == "");
  CHECK(store.list().plans.empty());
}

TEST_CASE("of several keys the first that has a plan counts", "[tune][store]") {
  const TemporaryFolder folder;
  const PlanStore store(folder / "tuned");
  TunedPlan predicted = tuned(1, "predicted");
  predicted.key.device = "any a100";
  predicted.predicted = true;
  REQUIRE(store.keep({predicted}) == "");
  std::string problem;
  const std::vector<TuneKey> keys{key_of(1), predicted.key};
  CHECK(plan_of(store, keys, problem) == "predicted");
  REQUIRE(store.keep({tuned(1, "measured")}) == "");
  CHECK(plan_of(store, keys, problem) == "measured");
  CHECK(plan_of(store, {predicted.key}, problem) == "predicted");
  CHECK(plan_of(store, {key_of(2), key_of(3)}, problem) == "none");
  CHECK(problem == "");
}

TEST_CASE("builds are kept for a later run, and forgotten with their spec", "[tune][store]") {
  const TemporaryFolder folder;
  const PlanStore store(folder / "tuned");
  CHECK(store.builds(key_of(1)).empty());
  TunedBuild build{.key = key_of(1), .plan = "p", .built = {}, .mix = {}, .failure = {}};
  build.built.registers = 200;
  REQUIRE(store.note(build) == "");
  build.key = key_of(2);
  REQUIRE(store.note(build) == "");
  REQUIRE(store.builds(key_of(1)).size() == 1);
  CHECK(store.builds(key_of(1))[0].built.registers == 200);
  int dropped = 0;
  REQUIRE(store.forget({key_of(1).spec}, dropped) == "");
  CHECK(store.builds(key_of(1)).empty());
  CHECK(store.builds(key_of(2)).size() == 1);
}

TEST_CASE("looking for a plan decodes the lines of its spec alone: every first call of a spec makes one",
          "[tune][store]") {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    const std::string line = encode(tuned(i));
    bytes += i == 50 ? line : line.substr(0, line.size() / 2);  // a torn line that is decoded counts as junk
    bytes += "\n";
  }
  const auto found = decode_plans(bytes, key_of(50).spec);
  REQUIRE(found.records.size() == 1);
  CHECK(found.records[0].key == key_of(50));
  CHECK(found.junk == 0);
  CHECK(decode_plans(bytes, key_of(100).spec).records.empty());
  CHECK(decode_plans(bytes).junk == 99);
}

TEST_CASE("looking for a plan among a thousand takes a small part of reading them all", "[tune][store]") {
  const TemporaryFolder folder;
  const PlanStore store(folder / "tuned");
  std::vector<TunedPlan> plans;
  for (int i = 0; i < 1000; ++i) plans.push_back(tuned(i));
  REQUIRE(store.keep(plans) == "");
  const double all = fastest([&] { CHECK(store.list().plans.size() == 1000); });
  const double one = fastest([&] { CHECK(plan_of(store, 500) == "p"); });
  WARN(fmt::format("{:.3f} ms to find one of 1000 plans, {:.1f} ms to read all", one * 1e3, all * 1e3));
  CHECK(one < all / 10);
}

TEST_CASE("two processes that write at once lose nothing", "[tune][store]") {
  const TemporaryFolder folder;
  constexpr int kEach = 40, kProcesses = 4;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(start([&] {
      const PlanStore store(folder / "tuned");
      for (int i = 0; i < kEach; ++i) {
        if (!store.note(timing(0, process * kEach + i)).empty()) _exit(1);
        if (!store.keep({tuned(process * kEach + i)}).empty()) _exit(1);
      }
    }));
  }
  for (const pid_t child : children) CHECK(ended_well(child));
  const PlanStore store(folder / "tuned");
  CHECK(store.list().plans.size() == kEach * kProcesses);
  CHECK(store.list().junk == 0);
  CHECK(store.timings(key_of(0), "b").size() == kEach * kProcesses);
}

TEST_CASE("a process that is killed at random loses at most what it was writing", "[tune][store]") {
  const TemporaryFolder folder;
  const PlanStore store(folder / "tuned");
  std::mt19937 random(7);
  int torn = 0;
  std::size_t before = 0;
  for (int round = 0; round < 100; ++round) {
    int told[2];
    REQUIRE(pipe(told) == 0);
    const pid_t child = start([&] {
      for (int i = 0; i < 100000; ++i) {
        if (!store.note(timing(0, round * 100000 + i)).empty() || !store.keep({tuned(round)}).empty())
          _exit(1);
        if (write(told[1], "x", 1) != 1) _exit(1);
      }
    });
    usleep(static_cast<useconds_t>(1000 + random() % 8000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(told[1]);
    std::size_t done = 0;
    char byte = 0;
    while (read(told[0], &byte, 1) == 1) ++done;
    close(told[0]);
    const std::size_t now = store.timings(key_of(0), "b").size();
    CHECK(now >= before + done);
    CHECK(now <= before + done + 1);
    if (done > 0) CHECK(plan_of(store, round) == "p");
    torn += store.list().junk;
    before = now;
  }
  CHECK(torn == 0);  // plans are written aside and renamed
  CHECK(store.note(timing(1, 0)) == "");
  CHECK(store.timings(key_of(1), "b").size() == 1);
}

TEST_CASE("a line that was torn costs that line alone, and is told", "[tune][store]") {
  const TemporaryFolder folder;
  const PlanStore store(folder.path());
  REQUIRE(store.keep({tuned(1), tuned(2)}) == "");
  REQUIRE(store.note(timing(1, 0)) == "");
  const std::string plans = read_file(folder / "plans.jsonl"), timings = read_file(folder / "timings.jsonl");
  write_file(folder / "plans.jsonl", "junk\n" + plans + plans.substr(0, 50));
  write_file(folder / "timings.jsonl", timings + timings.substr(0, 50));
  for (const char* file : {"plans.jsonl", "timings.jsonl"}) chmod((folder / file).c_str(), 0600);
  CHECK(store.list().plans.size() == 2);
  CHECK(store.list().junk == 1);
  CHECK(plan_of(store, 2) == "p");
  CHECK(store.note(timing(1, 1)) == "");
  CHECK(store.timings(key_of(1), "b").size() == 2);
  CHECK(store.keep({tuned(3)}) == "");
  CHECK(store.list().plans.size() == 3);
  CHECK(store.list().junk == 0);
}

TEST_CASE("a full disk leaves the store as it was, and says so", "[tune][store]") {
  const TemporaryFolder folder;
  const PlanStore store(folder.path());
  REQUIRE(store.keep({tuned(1)}) == "");
  REQUIRE(store.note(timing(1, 0)) == "");
  const std::string plans = read_file(folder / "plans.jsonl"), timings = read_file(folder / "timings.jsonl");
  for (int nth = 1; nth <= 12; ++nth) {
    INFO("call " << nth);
    std::string kept, noted;
    {
      const Armed full({.fault = Fault::fail, .nth = nth, .error = ENOSPC});
      kept = store.keep({tuned(2)});
    }
    {
      const Armed full({.fault = Fault::fail, .nth = nth, .error = ENOSPC});
      noted = store.note(timing(1, 1));
    }
    if (!kept.empty()) CHECK(read_file(folder / "plans.jsonl") == plans);
    CHECK(read_file(folder / "timings.jsonl").starts_with(timings));
    if (nth == 1) CHECK(kept.find("No space left") != std::string::npos);
    if (nth == 1) CHECK(noted.find("No space left") != std::string::npos);
    if (noted.empty()) CHECK(store.timings(key_of(1), "b").size() == 2);
    write_file(folder / "plans.jsonl", plans);
    write_file(folder / "timings.jsonl", timings);
  }
}

TEST_CASE("a folder that cannot be written, or is not this user's alone, is told", "[tune][store]") {
  const TemporaryFolder folder;
  CHECK(PlanStore("").keep({tuned(1)}).find("FA_TUNE_DIR") != std::string::npos);
  CHECK(plan_of(PlanStore(""), 1) == "none");
  write_file(folder / "file", "");
  CHECK(PlanStore(folder / "file").keep({tuned(1)}) != "");
  CHECK(plan_of(PlanStore(folder / "file"), 1) == "none");

  const PlanStore store(folder / "tuned");
  REQUIRE(store.keep({tuned(1)}) == "");
  const std::string path = folder / "tuned";
  chmod(path.c_str(), 0777);
  CHECK(plan_of(store, 1).find("others may write to it") != std::string::npos);
  CHECK(store.keep({tuned(2)}).find("FA_CACHE_SHARED") != std::string::npos);
  CHECK(plan_of(PlanStore(path, true), 1) == "p");
  chmod(path.c_str(), 0700);
  chmod((path + "/plans.jsonl").c_str(), 0666);
  CHECK(plan_of(store, 1).find("others may write to it") != std::string::npos);
  chmod((path + "/plans.jsonl").c_str(), 0600);
  CHECK(plan_of(store, 1) == "p");
  if (is_root()) return;  // whom no permission stops
  chmod(path.c_str(), 0500);
  CHECK(store.keep({tuned(2)}).find("Permission denied") != std::string::npos);
  CHECK(plan_of(store, 1) == "p");
  chmod(path.c_str(), 0700);
}

TEST_CASE("users who trust each other write to one store", "[tune][store]") {
  const TemporaryFolder folder;
  const mode_t umask_before = umask(077);
  const PlanStore store(folder.path(), true);
  CHECK(store.keep({tuned(1)}) == "");
  CHECK(store.note(timing(1, 0)) == "");
  umask(umask_before);
  for (const char* file : {"plans.jsonl", "timings.jsonl", ".lock"}) {
    struct stat status = {};
    REQUIRE(stat((folder / file).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0666);
  }
}

TEST_CASE("the folder of plans is beside the cache's folder", "[tune][store]") {
  if (std::getenv("FA_TUNE_DIR") != nullptr) return;
  CHECK(tune_folder("/home/me/.cache/facet") == "/home/me/.cache/facet-tuned");
  CHECK(tune_folder("/cache//") == "/cache-tuned");
  CHECK(tune_folder("") == "");
}
