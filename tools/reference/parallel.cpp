// The parallel loop: threads take the next chunk from one counter, so that uneven chunks balance.
#include "tools/reference/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "compiler/spec/rounding.h"

namespace fa::tools {

void parallel_for(std::int64_t count, std::int64_t chunk,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  if (count <= 0) return;
  const std::int64_t chunks = ceil_div(count, chunk);
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::int64_t threads = std::min(chunks, cores);

  std::atomic<std::int64_t> next{0};
  std::mutex failure_mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < chunks; i = next++) body(i * chunk, std::min(count, (i + 1) * chunk));
    } catch (...) {
      next = chunks;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };

  {
    std::vector<std::jthread> helpers;
    for (std::int64_t i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace fa::tools
