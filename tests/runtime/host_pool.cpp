// The pool: every item once, workspaces apart and aligned, exceptions carried over, calls inside and beside
// calls.
#include "runtime/host_pool.h"

#include <atomic>
#include <cstdint>
#include <cstring>
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
  };
  CHECK_THROWS_WITH(run_items(100000, 4, 64, work), "item 3");
  CHECK(ran < 100000);
  ran = 0;
  run_items(10, 4, 64, [&](std::size_t, void*) { ++ran; });
  CHECK(ran == 10);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which ends the process instead
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
