// The kernels that this process has loaded, by what was asked for. A hit takes a shared lock and one look-up.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "runtime/call/kernel_state.h"
#include "runtime/system/hash.h"

namespace fa {

class MemoryCache {
 public:
  using Loaded = std::shared_ptr<const LoadedKernel>;

  /// The process's cache. It is never destroyed, so that kernels may be compiled even while static objects
  /// are destroyed at exit.
  static MemoryCache& get();

  /// The kernel of `key`, or null.
  Loaded find(const Key& key) const;
  /// Returns the kernel of `key`, or else the one that `make` returns; where several threads ask at once,
  /// `make` runs only once. Where it throws, nothing is kept and the next caller tries again.
  Loaded find_or_make(const Key& key, const std::function<Loaded()>& make);
  void clear();

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, Loaded, Hash> loaded_;
  std::unordered_map<Key, std::shared_ptr<std::mutex>, Hash> making_;
};

/// What identifies a compile: the spec's canonical text and where it runs, how.
Key memory_key(const Spec& spec, Device device, int cuda_device, int num_threads, std::string_view plan,
               std::string_view target, bool checked = false, Tune tune = Tune::cached, bool backward = false,
               bool deterministic = false, std::string_view backward_plan = {});

}  // namespace fa
