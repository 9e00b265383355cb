// Results that threads make ahead of the one that asks for them, in the order in which it will ask: `facet tune`
// compiles the next kernels while it times one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace fa {

template <class Result>
class MadeAhead {
 public:
  using Make = std::function<Result(std::size_t which)>;

  /// Of `count` results. Several threads call `make`; without threads the one that asks does.
  MadeAhead(std::size_t count, int threads, Make make) : make_(std::move(make)), slots_(count) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }

  /// Waits for what is under way.
  ~MadeAhead() {
    {
      const std::lock_guard lock(mutex_);
      waiting_.clear();
      is_closed_ = true;
    }
    changed_.notify_all();
  }
  MadeAhead(const MadeAhead&) = delete;
  MadeAhead& operator=(const MadeAhead&) = delete;

  /// These will be asked for next, in this order. What was expected before and has not begun is forgotten.
  void expect(const std::vector<std::size_t>& next) {
    if (threads_.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      waiting_.assign(next.begin(), next.end());
    }
    changed_.notify_all();
  }

  /// Waits for a result that is under way, and makes one that nobody has begun. Throws what making it threw,
  /// every time. The result stays where it is as long as this object lives.
  const Result& get(std::size_t which) {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[which];
    if (slot.state == State::unknown) {
      make(which, lock);
    } else {
      changed_.wait(lock, [&] { return slot.state == State::made; });
    }
    if (slot.thrown) std::rethrow_exception(slot.thrown);
    return *slot.result;
  }

 private:
  enum class State { unknown, under_way, made };
  struct Slot {
    State state = State::unknown;
    std::optional<Result> result;
    std::exception_ptr thrown;
  };

  /// `lock` is held before and after, and not while the result is made.
  void make(std::size_t which, std::unique_lock<std::mutex>& lock) {
    Slot& slot = slots_[which];
    slot.state = State::under_way;
    lock.unlock();
    std::optional<Result> result;
    std::exception_ptr thrown;
    try {
      result.emplace(make_(which));
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    slot.result = std::move(result);
    slot.thrown = thrown;
    slot.state = State::made;
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_closed_ || !waiting_.empty(); });
      if (is_closed_) return;
      const std::size_t which = waiting_.front();
      waiting_.pop_front();
      if (slots_[which].state == State::unknown) make(which, lock);
    }
  }

  Make make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> waiting_;
  std::vector<Slot> slots_;
  bool is_closed_ = false;
  std::vector<std::jthread> threads_;  // last: they use what is above
};

}  // namespace fa
