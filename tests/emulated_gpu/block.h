// The threads of a block as fibers of one thread of the host: each runs until it waits for others, at a barrier
// or in an instruction that a whole warp executes. Included by device.h alone.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/emulated_gpu/launch.h"

// void facet_switch(void** save, void* to): leaves this stack, whose pointer goes to *save, for `to`.
// x86-64 System V: a function preserves rbx, rbp, r12..r15.
extern "C" void facet_switch(void** save, void* to);
asm(R"(
  .text
  .type facet_switch, @function
facet_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size facet_switch, . - facet_switch
)");

namespace fa::emulated {

constexpr unsigned kWarpSize = 32;
constexpr unsigned kMostThreads = 1024;
constexpr unsigned kMostSharedMemory = 228 * 1024;
constexpr std::size_t kStackBytes = 1 << 18;

struct Copy {
  unsigned char* to;
  const void* from;  // null: zeros
};

struct Thread {
  enum class State { ready, in_warp, at_barrier, done } state = State::done;
  void* stack = nullptr;
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
  const char* run(const Launch& launch, void (*body)(void*), void* context) {
    launch_ = &launch;
    body_ = body;
    context_ = context;
    error_.clear();
    threads_.assign(launch.threads, {});
    warps_.assign((launch.threads + kWarpSize - 1) / kWarpSize, {});
    live_ = launch.threads;
    at_barrier_ = 0;
    for (unsigned i = 0; i < launch.threads; ++i) start(i);
    while (live_ > 0 && error_.empty())
      if (!run_warps()) error_ = "threads wait for each other forever";
    return error_.empty() ? nullptr : error_.c_str();
  }

  const Launch& launch() const { return *launch_; }
  unsigned thread() const { return current_; }

  /// Ends the launch with an error; called by its threads.
  [[noreturn]] void fail(const std::string& what) {
    error_ = what;
    leave();
    __builtin_unreachable();
  }

  /// An instruction of the whole warp: `perform(of_lanes)` runs once, when all lanes have come.
  template <class Mine>
  void together(const char* instruction, Mine& mine, void (*perform)(Mine* const (&of_lanes)[kWarpSize])) {
    Warp& warp = warps_[current_ / kWarpSize];
    if (warp.arrived > 0 && std::strcmp(warp.instruction, instruction) != 0)
      fail(std::string("lanes of a warp are in different instructions: ") + warp.instruction + ", " +
           instruction);
    warp.instruction = instruction;
    warp.of_lanes[current_ % kWarpSize] = &mine;
    if (++warp.arrived < kWarpSize) return wait(Thread::State::in_warp);
    Mine* of_lanes[kWarpSize];
    for (unsigned i = 0; i < kWarpSize; ++i) of_lanes[i] = static_cast<Mine*>(warp.of_lanes[i]);
    perform(of_lanes);
    warp.arrived = 0;
    const unsigned first = current_ / kWarpSize * kWarpSize;
    for (unsigned i = first; i < first + kWarpSize; ++i) threads_[i].state = Thread::State::ready;
  }

  void barrier() {
    ++at_barrier_;
    if (at_barrier_ < live_) return wait(Thread::State::at_barrier);
    open_barrier();
  }

  void copy(const Copy& copy) {
    if (launch_->copies_at_once) return perform(copy);
    std::vector<std::vector<Copy>>& groups = threads_[current_].copies;
    if (groups.empty()) groups.emplace_back();
    groups.back().push_back(copy);
  }
  void close_copies() {
    std::vector<std::vector<Copy>>& groups = threads_[current_].copies;
    if (groups.empty()) groups.emplace_back();
    groups.emplace_back();
  }
  void await_copies(unsigned pending) {
    std::vector<std::vector<Copy>>& groups = threads_[current_].copies;
    while (groups.size() > pending + 1) {
      for (const Copy& copy : groups.front()) perform(copy);
      groups.erase(groups.begin());
    }
  }

 private:
  static void perform(const Copy& copy) {
    if (copy.from == nullptr)
      std::memset(copy.to, 0, 16);
    else
      std::memcpy(copy.to, copy.from, 16);
  }

  void start(unsigned i) {
    if (stacks_ == nullptr)
      stacks_ = static_cast<char*>(mmap(nullptr, kStackBytes * kMostThreads, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    auto* top = reinterpret_cast<void**>(stacks_ + kStackBytes * (i + 1)) - 1;
    *top = nullptr;                                   // the return address of `begin`, which never returns
    *--top = reinterpret_cast<void*>(&Block::begin);  // where the first switch to this stack goes
    threads_[i] = {.state = Thread::State::ready, .stack = top - 6, .copies = {}};
  }

  static void begin();

  void wait(Thread::State state) {
    threads_[current_].state = state;
    leave();
  }

  void leave() { facet_switch(&threads_[current_].stack, main_); }

  void open_barrier() {
    at_barrier_ = 0;
    for (Thread& thread : threads_)
      if (thread.state == Thread::State::at_barrier) thread.state = Thread::State::ready;
  }

  void end() {
    threads_[current_].state = Thread::State::done;
    --live_;
    if (live_ > 0 && at_barrier_ == live_) open_barrier();
    leave();
  }

  /// Each warp as far as it goes. Returns whether any went on.
  bool run_warps() {
    bool went_on = false;
    const auto count = static_cast<unsigned>(warps_.size());
    for (unsigned i = 0; i < count; ++i) {
      const unsigned warp = launch_->last_first ? count - 1 - i : i;
      while (run_lanes(warp)) went_on = true;
    }
    return went_on;
  }

  bool run_lanes(unsigned warp) {
    bool went_on = false;
    for (unsigned i = 0; i < kWarpSize && error_.empty(); ++i) {
      const unsigned number = warp * kWarpSize + (launch_->last_first ? kWarpSize - 1 - i : i);
      if (number >= threads_.size() || threads_[number].state != Thread::State::ready) continue;
      went_on = true;
      resume(number);
    }
    return went_on;
  }

  void resume(unsigned number);

  const Launch* launch_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  unsigned current_ = 0, live_ = 0, at_barrier_ = 0;
  void* main_ = nullptr;
  char* stacks_ = nullptr;
  std::string error_;
};

static Block block;

}  // namespace fa::emulated
