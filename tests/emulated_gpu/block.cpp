// The part of an emulated kernel that is the same in all: compiled once, when the first is (library.cpp), and linked to each. It
// is compiled with the tests, too, for tests/templates/.
#include "tests/emulated_gpu/block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/emulated_gpu/device.h"

// void facet_switch(void** save, void* to): leaves this stack, whose pointer goes to *save, for `to`.
// x86-64 System V: a function preserves rbx, rbp, r12..r15.
extern "C" __attribute__((visibility("hidden"))) void facet_switch(void** save, void* to);
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

Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace fa {
alignas(1024) thread_local unsigned char shared[emulated::kMostSharedMemory];
}  // namespace fa

namespace fa::emulated {

Block block;

namespace {

void perform(const Copy& copy) {
  if (copy.from == nullptr)
    std::memset(copy.to, 0, 16);
  else
    std::memcpy(copy.to, copy.from, 16);
}

}  // namespace

void refuse_piece(unsigned address, unsigned bytes) {
  if (address % bytes != 0)
    block.fail(std::to_string(bytes) + " bytes of shared memory at address " + std::to_string(address));
  block.fail("shared memory ends at " + std::to_string(block.launch().shared_memory) + ", asked for " +
             std::to_string(address));
}

const char* Block::run(const Launch& launch, void (*body)(void*), void* context) {
  launch_ = &launch;
  body_ = body;
  context_ = context;
  error_.clear();
  threads_.assign(launch.threads, {});
  warps_.assign((launch.threads + kWarpSize - 1) / kWarpSize, {});
  live_ = launch.threads;
  at_barrier_ = 0;
  std::fill_n(at_numbered_, kBarriers, 0U);
  for (unsigned i = 0; i < launch.threads; ++i) start(i);
  while (live_ > 0 && error_.empty())
    if (!run_warps()) error_ = "threads wait for each other forever";
  return error_.empty() ? nullptr : error_.c_str();
}

void Block::fail(const std::string& what) {
  error_ = what;
  leave();
  __builtin_unreachable();
}

void Block::fail(const char* what) { fail(std::string(what)); }

Warp* Block::arrive(const char* instruction, void* mine) {
  Warp& warp = warps_[current_ / kWarpSize];
  if (warp.arrived > 0 && warp.instruction != instruction && std::strcmp(warp.instruction, instruction) != 0)
    fail(std::string("lanes of a warp are in different instructions: ") + warp.instruction + ", " +
         instruction);
  warp.instruction = instruction;
  warp.of_lanes[current_ % kWarpSize] = mine;
  if (++warp.arrived == kWarpSize) return &warp;
  wait(Thread::State::in_warp);
  return nullptr;
}

void Block::go_on(Warp& warp) {
  warp.arrived = 0;
  const unsigned first = current_ / kWarpSize * kWarpSize;
  for (unsigned i = first; i < first + kWarpSize; ++i) threads_[i].state = Thread::State::ready;
}

void Block::barrier() {
  ++at_barrier_;
  if (at_barrier_ < live_) return wait(Thread::State::at_barrier);
  open_barrier();
}

void Block::barrier(int number, unsigned threads) {
  if (number < 1 || number >= kBarriers || threads % kWarpSize != 0 || threads > launch_->threads)
    fail("barrier " + std::to_string(number) + " of " + std::to_string(threads) + " threads");
  if (++at_numbered_[number] < threads) {
    threads_[current_].barrier = number;
    return wait(Thread::State::at_numbered);
  }
  at_numbered_[number] = 0;
  for (Thread& thread : threads_)
    if (thread.state == Thread::State::at_numbered && thread.barrier == number)
      thread.state = Thread::State::ready;
}

void Block::make(Phases& phases, int threads) {
  const auto count = static_cast<unsigned short>(threads);
  phases = {.threads = count, .missing = count, .done = 0};
}

void Block::arrive(Phases& phases) {
  if (phases.threads == 0 || phases.threads > launch_->threads)
    fail("a thread arrives at a barrier of " + std::to_string(phases.threads) + " threads");
  if (--phases.missing > 0) return;
  phases.missing = phases.threads;
  ++phases.done;
  for (Thread& thread : threads_)
    if (thread.state == Thread::State::at_phases && thread.phases == &phases)
      thread.state = Thread::State::ready;
}

void Block::yield() {
  if (launch_->last_first) wait(Thread::State::yielding);
}

void Block::await(const Phases& phases, int parity) {
  if (phases.threads > launch_->threads)
    fail("a thread waits at a barrier of " + std::to_string(phases.threads) + " threads");
  while (static_cast<int>(phases.done % 2) == parity) {
    threads_[current_].phases = &phases;
    wait(Thread::State::at_phases);
  }
}

void Block::copy(const Copy& copy) {
  if (launch_->copies_at_once) return perform(copy);
  std::vector<std::vector<Copy>>& groups = threads_[current_].copies;
  if (groups.empty()) groups.emplace_back();
  groups.back().push_back(copy);
}

void Block::close_copies() {
  std::vector<std::vector<Copy>>& groups = threads_[current_].copies;
  if (groups.empty()) groups.emplace_back();
  groups.emplace_back();
}

void Block::await_copies(unsigned pending) {
  std::vector<std::vector<Copy>>& groups = threads_[current_].copies;
  while (groups.size() > pending + 1) {
    for (const Copy& copy : groups.front()) perform(copy);
    groups.erase(groups.begin());
  }
}

void Block::start(unsigned i) {
  if (stacks_ == nullptr)
    stacks_ = static_cast<char*>(mmap(nullptr, kStackBytes * kMostThreads, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  auto* top = reinterpret_cast<void**>(stacks_ + kStackBytes * (i + 1)) - 1;
  *top = nullptr;                                   // the return address of `begin`, which never returns
  *--top = reinterpret_cast<void*>(&Block::begin);  // where the first switch to this stack goes
  threads_[i] = {
      .state = Thread::State::ready, .stack = top - 6, .barrier = 0, .phases = nullptr, .copies = {}};
}

void Block::begin() {
  block.body_(block.context_);
  block.end();
}

void Block::wait(Thread::State state) {
  threads_[current_].state = state;
  leave();
}

void Block::leave() { facet_switch(&threads_[current_].stack, main_); }

void Block::open_barrier() {
  at_barrier_ = 0;
  for (Thread& thread : threads_)
    if (thread.state == Thread::State::at_barrier) thread.state = Thread::State::ready;
}

void Block::end() {
  threads_[current_].state = Thread::State::done;
  --live_;
  if (live_ > 0 && at_barrier_ == live_) open_barrier();
  leave();
}

/// Each warp as far as it goes. Returns whether any went on.
bool Block::run_warps() {
  bool went_on = false;
  for (Thread& thread : threads_)
    if (thread.state == Thread::State::yielding) thread.state = Thread::State::ready;
  const auto count = static_cast<unsigned>(warps_.size());
  for (unsigned i = 0; i < count; ++i) {
    const unsigned warp = launch_->last_first ? count - 1 - i : i;
    while (run_lanes(warp)) went_on = true;
  }
  return went_on;
}

bool Block::run_lanes(unsigned warp) {
  bool went_on = false;
  for (unsigned i = 0; i < kWarpSize && error_.empty(); ++i) {
    const unsigned number = warp * kWarpSize + (launch_->last_first ? kWarpSize - 1 - i : i);
    if (number >= threads_.size() || threads_[number].state != Thread::State::ready) continue;
    went_on = true;
    resume(number);
  }
  return went_on;
}

void Block::resume(unsigned number) {
  current_ = number;
  threadIdx = {number, 0, 0};
  facet_switch(&main_, threads_[number].stack);
}

}  // namespace fa::emulated

/// Runs a launch, one block after the other; of type fa::emulated::Run.
extern "C" __attribute__((visibility("default"))) const char* facet_emulate(
    const fa::emulated::Launch& launch, void (*body)(void*), void* context) {
  using namespace fa::emulated;
  gridDim = {launch.blocks[0], launch.blocks[1], launch.blocks[2]};
  blockDim = {launch.threads, 1, 1};
  const unsigned count = gridDim.x * gridDim.y * gridDim.z;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned number = launch.last_first ? count - 1 - i : i;
    blockIdx = {number % gridDim.x, number / gridDim.x % gridDim.y, number / gridDim.x / gridDim.y};
    std::memset(fa::shared, 0xff, kMostSharedMemory);  // NaN, in 16 and 32 bits
    if (const char* error = block.run(launch, body, context)) return error;
  }
  return nullptr;
}
