// Work that threads do ahead of the one that reads the results: for each plan one result, as they are done.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "compiler/schedule/plan.h"
#include "runtime/tune/record.h"

namespace fa {

class BuildsAhead {
 public:
  using Build = std::function<TunedBuild(const Plan& plan)>;

  /// Begins at once, with `plans` in their order. `build` is called by several threads.
  BuildsAhead(std::vector<Plan> plans, int threads, Build build);
  /// Waits for the builds under way.
  ~BuildsAhead();
  BuildsAhead(const BuildsAhead&) = delete;
  BuildsAhead& operator=(const BuildsAhead&) = delete;

  /// One more plan, before those that have not begun.
  void add(const Plan& plan);
  /// Of the plans that have not begun only those remain for which `is_wanted` returns true.
  void keep_if(const std::function<bool(const Plan&)>& is_wanted);
  /// No more builds begin; those under way are still read.
  void stop();
  /// The next result; nothing once there are no more. While it waits it calls `meanwhile` ten times a second.
  /// Throws what a build threw.
  std::optional<TunedBuild> next(const std::function<void()>& meanwhile);

 private:
  void work();

  Build build_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Plan> waiting_;
  std::deque<TunedBuild> done_;
  std::size_t under_way_ = 0;
  bool is_closed_ = false;  // threads end once nothing waits
  std::exception_ptr thrown_;
  std::vector<std::jthread> threads_;  // last: they use what is above
};

}  // namespace fa
