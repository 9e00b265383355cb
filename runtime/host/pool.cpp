// The pool: workers sleep until a call posts a job, then take items from it by an atomic counter. A job lives
// on the caller's stack; the caller works too, so a call makes progress even when every worker is busy or
// none could start.
#include "runtime/host/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace fa {
namespace {

/// A thread's workspace: kept between calls, grown when a kernel asks for more.
class Workspace {
 public:
  void* at_least(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();  // first, so that the peak is the larger of the two and not their sum
      bytes_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

thread_local Workspace own_workspace;

struct Job {
  std::size_t items;
  std::size_t workspace_bytes;
  const std::function<void(std::size_t, void*)>& work;
  std::atomic<std::size_t> next = 0;
  int wanted;       // workers that may still join; under the pool's mutex
  int working = 0;  // workers inside; under the pool's mutex
  std::mutex failure_mutex;
  std::exception_ptr failure;

  void take_part() noexcept {
    try {
      void* memory = own_workspace.at_least(workspace_bytes);
      for (std::size_t item = next++; item < items; item = next++) work(item, memory);
    } catch (...) {
      next = items;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  }
};

class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    posted_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void run(Job& job) {
    const int wanted = job.wanted;  // workers count it down from now on
    {
      const std::lock_guard lock(mutex_);
      grow(wanted);
      jobs_.push_back(&job);
    }
    if (wanted > 1)
      posted_.notify_all();
    else
      posted_.notify_one();
    job.take_part();
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);  // nobody joins any more
    finished_.wait(lock, [&] { return job.working == 0; });
  }

 private:
  /// Starts workers until there are `count`, as far as the system allows. The caller holds the mutex.
  void grow(int count) {
    try {
      while (static_cast<int>(workers_.size()) < count) workers_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      // The system gives no more threads: the existing ones and the caller do the work.
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      posted_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      Job* job = jobs_.front();
      if (--job->wanted == 0) jobs_.erase(jobs_.begin());
      ++job->working;
      lock.unlock();
      job->take_part();
      lock.lock();
      if (--job->working == 0) finished_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable posted_, finished_;
  std::vector<Job*> jobs_;  // oldest first; few, and unlike a deque's its memory stays
  std::vector<std::thread> workers_;
  bool stopping_ = false;
};

/// The process' pool. A child of fork(2) has none of its parent's threads, and its mutex may be held by one
/// of them: it leaves that pool as it is and starts one of its own.
class ProcessPool {
 public:
  ProcessPool() {
    pthread_atfork(nullptr, nullptr, [] { current() = new Pool; });
  }
  ~ProcessPool() { delete current(); }

  Pool& get() { return *current(); }

 private:
  static Pool*& current() {
    static Pool* pool = new Pool;
    return pool;
  }
};

Pool& pool() {
  static ProcessPool shared;
  return shared.get();
}

}  // namespace

int usable_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1,
                  static_cast<int>(std::thread::hardware_concurrency()));  // more CPUs than a cpu_set_t holds
}

void run_items(std::size_t items, int threads, std::size_t workspace_bytes,
               const std::function<void(std::size_t item, void* workspace)>& work) {
  const auto most = static_cast<std::size_t>(threads > 0 ? threads : usable_cores());
  Job job{.items = items,
          .workspace_bytes = workspace_bytes,
          .work = work,
          .wanted = static_cast<int>(std::min(most, std::max<std::size_t>(items, 1))) - 1,
          .failure_mutex = {},
          .failure = {}};
  if (job.wanted > 0)
    pool().run(job);
  else
    job.take_part();
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace fa
