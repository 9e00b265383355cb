#include "runtime/tune/builds.h"

#include <chrono>

namespace fa {

BuildsAhead::BuildsAhead(std::vector<Plan> plans, int threads, Build build)
    : build_(std::move(build)), waiting_(plans.begin(), plans.end()) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

BuildsAhead::~BuildsAhead() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
}

void BuildsAhead::add(const Plan& plan) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_front(plan);
  }
  changed_.notify_all();
}

void BuildsAhead::keep_if(const std::function<bool(const Plan&)>& is_wanted) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Plan& plan) { return !is_wanted(plan); });
}

void BuildsAhead::stop() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

std::optional<TunedBuild> BuildsAhead::next(const std::function<void()>& meanwhile) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (thrown_) std::rethrow_exception(thrown_);
    if (!done_.empty()) {
      TunedBuild result = std::move(done_.front());
      done_.pop_front();
      return result;
    }
    if (waiting_.empty() && under_way_ == 0) return {};
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    lock.unlock();  // `meanwhile` may stop the builds
    meanwhile();
    lock.lock();
  }
}

void BuildsAhead::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Plan plan = waiting_.front();
    waiting_.pop_front();
    ++under_way_;
    lock.unlock();
    std::optional<TunedBuild> result;
    std::exception_ptr thrown;
    try {
      result = build_(plan);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    --under_way_;
    if (result) done_.push_back(std::move(*result));
    if (thrown) {
      thrown_ = thrown;
      waiting_.clear();
    }
    changed_.notify_all();
  }
}

}  // namespace fa
