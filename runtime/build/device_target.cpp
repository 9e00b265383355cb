#include "runtime/build/device_target.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "runtime/build/nvrtc_find.h"

namespace fa {
namespace {

constexpr int kOldest = 75;  // compute capability of the oldest GPUs with kernels

/// A Target and the text it points to.
struct Owned {
  std::string name;
  std::string description;
  std::string arch;
  Target target;
};

const Target& nearest_older(const DeviceInfo& info) {
  const Target* best = nullptr;
  for (const Target& target : all_targets()) {
    if (target.is_host() || target.compute_capability > info.compute_capability) continue;
    if (best == nullptr || target.compute_capability > best->compute_capability) best = &target;
  }
  if (best == nullptr) throw InternalError("no target is as old as the oldest GPU with kernels");
  return *best;
}

std::unique_ptr<Owned> describe(const DeviceInfo& info) {
  if (info.compute_capability < kOldest) {
    throw DeviceError(
        fmt::format("{} has compute capability {}.{}, and there are kernels from {}.{} on: use the host "
                    "(--device host)",
                    info.name, info.compute_capability / 10, info.compute_capability % 10, kOldest / 10,
                    kOldest % 10),
        0);
  }
  const Target* const match = match_target(info.compute_capability, info.num_sms, info.memory_bytes);
  auto owned = std::make_unique<Owned>();
  owned->arch = fmt::format("sm_{}", info.compute_capability);
  owned->name = match != nullptr ? std::string(match->name) : owned->arch;
  owned->description = info.name;
  Target& target = owned->target = match != nullptr ? *match : nearest_older(info);
  target.name = owned->name;
  target.description = owned->description;
  target.nvrtc_arch = owned->arch;
  target.has_arch_features &= target.compute_capability == info.compute_capability;
  target.compute_capability = info.compute_capability;
  target.num_sms = info.num_sms;
  target.max_smem_per_block = info.max_smem_per_block;
  target.max_smem_per_sm = info.max_smem_per_sm;
  target.reserved_smem_per_block = info.reserved_smem_per_block;
  target.registers_per_sm = info.registers_per_sm;
  target.max_threads_per_sm = info.max_threads_per_sm;
  target.max_ctas_per_sm = info.max_ctas_per_sm;
  target.l2_bytes = info.l2_bytes;
  target.memory_bytes = info.memory_bytes;
  return owned;
}

std::string find_out(int ordinal) {
  try {
    target_of(CudaDevice::get(ordinal).info());
  } catch (const DeviceError& error) {
    return error.what();
  }
  return nvrtc_search().problem;
}

}  // namespace

const Target& target_of(const DeviceInfo& info) {
  static std::mutex mutex;
  // Never destroyed: plans and kernels point into it.
  static auto& known = *new std::map<std::pair<int, std::string>, std::unique_ptr<Owned>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Owned>& owned = known[{info.ordinal, info.name}];
  if (owned == nullptr) owned = describe(info);
  return owned->target;
}

const Target& check_gpu_target(const std::string& name) {
  const Target* found = nullptr;
  try {
    found = &find_target(name);
  } catch (const Error& error) {
    throw ArgumentError(fmt::format("{} (Options::target, --gpu, FA_TARGET)", error.what()));
  }
  if (found->is_host())
    throw ArgumentError(
        fmt::format("target '{}' is no GPU: to run on the host, ask for its device (--device host)", name));
  return *found;
}

const Target& target_named(const std::string& name, const DeviceInfo& info) {
  if (name.empty()) return target_of(info);
  const Target& target = check_gpu_target(name);
  if (target.compute_capability > info.compute_capability) {
    throw DeviceError(
        fmt::format("target '{}' has compute capability {}.{}, more than {}'s {}.{}: name an older one", name,
                    target.compute_capability / 10, target.compute_capability % 10, info.name,
                    info.compute_capability / 10, info.compute_capability % 10),
        0);
  }
  if (target.compute_capability == info.compute_capability) return target;
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::unique_ptr<Owned>>;  // as in target_of
  const std::lock_guard lock(mutex);
  std::unique_ptr<Owned>& owned = known[name];
  if (owned == nullptr) {
    owned = std::make_unique<Owned>();
    owned->target = target;
    owned->arch = fmt::format("compute_{}", target.compute_capability);
    owned->target.nvrtc_arch = owned->arch;
    owned->target.has_arch_features = false;
  }
  return owned->target;
}

const std::string& why_no_cuda(int ordinal) {
  static std::mutex mutex;
  static auto& known = *new std::map<int, std::string>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(ordinal);
  if (found != known.end()) return found->second;
  return known.emplace(ordinal, find_out(ordinal)).first->second;
}

}  // namespace fa
