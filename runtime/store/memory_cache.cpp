#include "runtime/store/memory_cache.h"

#include <array>
#include <cstring>

#include "compiler/spec/spec.h"

namespace fa {

MemoryCache& MemoryCache::get() {
  static MemoryCache& cache = *new MemoryCache;
  return cache;
}

MemoryCache::Loaded MemoryCache::find(const Key& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = loaded_.find(key);
  return found == loaded_.end() ? nullptr : found->second;
}

MemoryCache::Loaded MemoryCache::find_or_make(const Key& key, const std::function<Loaded()>& make) {
  if (Loaded found = find(key)) return found;
  std::shared_ptr<std::mutex> making;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<std::mutex>& slot = making_[key];
    if (slot == nullptr) slot = std::make_shared<std::mutex>();
    making = slot;
  }
  const std::lock_guard one_at_a_time(*making);
  if (Loaded found = find(key)) return found;  // made while this thread waited
  Loaded made = make();
  const std::lock_guard lock(mutex_);
  loaded_[key] = made;
  making_.erase(key);  // whoever still waits holds the mutex itself
  return made;
}

void MemoryCache::clear() {
  const std::lock_guard lock(mutex_);
  loaded_.clear();
}

Key memory_key(const Spec& spec, Device device, int cuda_device, int num_threads, std::string_view plan,
               std::string_view target, bool checked, Tune tune, bool backward, bool deterministic,
               std::string_view backward_plan) {
  const std::array<int, 7> numbers = {
      static_cast<int>(device), checked ? 1 : 0,  cuda_device,          num_threads,
      static_cast<int>(tune),   backward ? 1 : 0, deterministic ? 1 : 0};
  const CheckedSpec& content = spec.checked();
  const auto bytes = [](const HookFile& file) { return file.bytes ? std::string_view(*file.bytes) : ""; };
  const std::string_view texts[] = {
      content.text,
      bytes(content.score_from),
      bytes(content.mask_from),
      plan,
      backward_plan,
      target,
      std::string_view(reinterpret_cast<const char*>(numbers.data()), sizeof numbers)};
  return hash_texts(texts);
}

}  // namespace fa
