// The threads of a block as fibers of one thread of the host: each runs until it waits for others, at a barrier
// or in an instruction that a whole warp executes. Included by device.h and block.cpp alone:
// what is not inline is in block.cpp, which is compiled once for all kernels, and for the tests of templates.
#pragma once

#include <string>
#include <vector>

#include "tests/emulated_gpu/launch.h"

// Of the kernel's library, or of the tests' program, alone, so that it is found without a table.
#pragma GCC visibility push(hidden)

namespace fa::emulated {

constexpr unsigned kWarpSize = 32;
constexpr unsigned kMostThreads = 1024;
constexpr int kBarriers = 16;
constexpr unsigned kMostSharedMemory = 228 * 1024;
constexpr std::size_t kStackBytes = 1 << 18;

struct Copy {
  unsigned char* to;
  const void* from;  // null: zeros
};

/// A barrier in shared memory (mbarrier).
struct Phases {
  unsigned short threads, missing;  // that it is for; of them, those that have not arrived in this phase
  unsigned done;                    // phases
};
static_assert(sizeof(Phases) == 8);

struct Thread {
  enum class State { ready, in_warp, at_barrier, at_numbered, at_phases, yielding, done } state = State::done;
  void* stack = nullptr;
  int barrier = 0;                        // the numbered one that it waits at
  const Phases* phases = nullptr;         // the one in shared memory that it waits at
  std::vector<std::vector<Copy>> copies;  // the groups of asynchronous copies, the last one open
};

struct Warp {
  const char* instruction = nullptr;  // that its lanes have come to
  unsigned arrived = 0;
  void* of_lanes[kWarpSize] = {};
};

/// A block on its way. There is one at a time.
class Block {
 public:
  const char* run(const Launch& launch, void (*body)(void*), void* context);

  const Launch& launch() const { return *launch_; }
  unsigned thread() const { return current_; }

  /// Ends the launch with an error; called by its threads.
  [[noreturn]] void fail(const std::string& what);
  [[noreturn]] void fail(const char* what);

  /// An instruction of the whole warp: `perform(of_lanes)` runs once, when all lanes have come.
  template <class Mine>
  void together(const char* instruction, Mine& mine, void (*perform)(Mine* const (&of_lanes)[kWarpSize])) {
    Warp* const warp = arrive(instruction, &mine);
    if (warp == nullptr) return;
    Mine* of_lanes[kWarpSize];
    for (unsigned i = 0; i < kWarpSize; ++i) of_lanes[i] = static_cast<Mine*>(warp->of_lanes[i]);
    perform(of_lanes);
    go_on(*warp);
  }

  void barrier();
  /// Of so many threads: those that come to the barrier of that number, 1 to 15.
  void barrier(int number, unsigned threads);

  static void make(Phases& phases, int threads);
  void arrive(Phases& phases);
  /// Until the phase of that parity has ended, which is the one under way or the last.
  void await(const Phases& phases, int parity);

  /// Other warps go on first, in one of the orders.
  void yield();

  void copy(const Copy& copy);
  void close_copies();
  void await_copies(unsigned pending);

 private:
  /// A lane has come to an instruction. Returns its warp where it is the last, else null once the last one has performed it.
  Warp* arrive(const char* instruction, void* mine);
  /// The lanes of the current thread's warp need not wait any longer.
  void go_on(Warp& warp);
  void start(unsigned i);
  static void begin();
  void wait(Thread::State state);
  void leave();
  void open_barrier();
  void end();
  bool run_warps();
  bool run_lanes(unsigned warp);
  void resume(unsigned number);

  const Launch* launch_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  unsigned current_ = 0, live_ = 0, at_barrier_ = 0;
  unsigned at_numbered_[kBarriers] = {};
  void* main_ = nullptr;
  char* stacks_ = nullptr;
  std::string error_;
};

extern Block block;

}  // namespace fa::emulated

#pragma GCC visibility pop
