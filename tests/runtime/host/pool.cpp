// The pool: every item runs once, workspaces are separate and aligned, exceptions reach the caller, calls may
// nest and run at the same time.
#include "runtime/host/pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/catch.h"

using namespace fa;

TEST_CASE("host pool: every item runs once") {
  for (const int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    run_items(runs.size(), threads, 0, [&](std::size_t item, void*) { ++runs[item]; });
    int wrong = 0;
    for (const auto& count : runs) wrong += count != 1;
    CHECK(wrong == 0);
  }
  run_items(0, 2, 64, [](std::size_t, void*) { FAIL("there is no item"); });
  CHECK(usable_cores() >= 1);
}

TEST_CASE("host pool: a workspace is aligned, large enough and one thread's") {
  std::atomic<int> mixed = 0;
  for (const std::size_t bytes : {64u, 100000u, 128u, 3000000u})
    run_items(64, 4, bytes, [&](std::size_t item, void* workspace) {
      if (reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0) ++mixed;
      std::memset(workspace, static_cast<int>(item), bytes);
      std::this_thread::yield();
      for (std::size_t i = 0; i < bytes; i += 61)
        if (static_cast<unsigned char*>(workspace)[i] != item) ++mixed;
    });
  CHECK(mixed == 0);
}

TEST_CASE("host pool: the first exception reaches the caller, the pool lives on") {
  std::atomic<int> ran = 0;
  auto work = [&](std::size_t item, void*) {
    ++ran;
    if (item == 3) throw std::runtime_error("item 3");
    // The others are not done before it is caught, however slow that is.
    if (item > 3) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  CHECK_THROWS_WITH(run_items(100000, 4, 64, work), "item 3");
  CHECK(ran < 100000);
  ran = 0;
  run_items(10, 4, 64, [&](std::size_t, void*) { ++ran; });
  CHECK(ran == 10);
#ifndef FA_SANITIZED  // sanitizers end the process instead
  CHECK_THROWS_AS(run_items(4, 2, std::size_t{1} << 60, work), std::bad_alloc);
#endif
}

TEST_CASE("host pool: concurrent calls do not mix") {
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::atomic<std::size_t> sum = 0;
        run_items(40, 3, 256, [&](std::size_t item, void*) { sum += item; });
        if (sum != 780) ++wrong;
      }
    });
  callers.clear();
  CHECK(wrong == 0);
}

// ThreadSanitizer stops children of processes with threads; LeakSanitizer blames a child for what its
// parent's threads hold, which it cannot reach.
#ifndef FA_SANITIZED

namespace {

/// The exit status of a child that runs `body` and leaves by exit(3), destructors included; -1 where it has
/// to be killed after ten seconds.
template <class Body>
int status_of_child(Body body) {
  std::cout.flush();  // else the child writes it once more
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(10);
    body();
    std::exit(7);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("host pool: a child process ends, and works with threads of its own") {
  std::atomic<int> ran = 0;
  const auto run = [&] { run_items(1000, 3, 64, [&](std::size_t, void*) { ++ran; }); };
  run();
  CHECK(status_of_child([] {}) == 7);
  CHECK(status_of_child([&] {
          ran = 0;
          run();
          if (ran != 1000) _exit(1);
        }) == 7);
  // A child of the child, and children of a parent whose pool is at work.
  CHECK(status_of_child([&] {
          run();
          const pid_t child = fork();
          if (child == 0) {
            run();
            std::exit(0);
          }
          int status = 0;
          if (waitpid(child, &status, 0) != child || status != 0) _exit(1);
        }) == 7);
  std::atomic<bool> stop = false;
  std::jthread busy([&] {
    while (!stop) run_items(64, 3, 64, [](std::size_t, void*) { std::this_thread::yield(); });
  });
  for (int i = 0; i < 20; ++i) CHECK(status_of_child([&] { run(); }) == 7);
  stop = true;
}

#endif
