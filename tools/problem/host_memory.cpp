// Host memory and wall-clock timing for sessions on the host.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

#include "compiler/spec/rounding.h"
#include "tools/problem/session.h"

namespace fa::tools {

namespace {

constexpr std::size_t kAlignment = 256;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class HostMemory final : public Memory {
 public:
  void upload(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void synchronize() override {}  // forward returns when done

  std::vector<double> time(int runs, const std::function<void(int)>& launch) override {
    std::vector<double> milliseconds;
    for (int run = 0; run < runs; ++run) {
      const auto start = std::chrono::steady_clock::now();
      launch(run);
      const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
      milliseconds.push_back(elapsed.count());
    }
    return milliseconds;
  }

 private:
  void* do_allocate(std::size_t bytes) override {
    // Without operator new, whose handler ends the command: it may have other problems to time.
    const std::size_t whole = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
    void* const memory = std::aligned_alloc(kAlignment, whole);
    if (memory == nullptr) throw std::bad_alloc();
    blocks_.emplace_back(memory);
    return memory;
  }

  std::vector<std::unique_ptr<void, Free>> blocks_;
};

}  // namespace

std::unique_ptr<Memory> host_memory() { return std::make_unique<HostMemory>(); }

}  // namespace fa::tools
