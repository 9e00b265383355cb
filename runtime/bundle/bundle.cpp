// fa::load_bundle and fa::Bundle: reading, choosing the kernel for a GPU, loading it.
#include "fa/bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <set>

#include "runtime/bundle/file.h"
#include "runtime/bundle/state.h"
#include "runtime/call/kernel_state.h"
#include "runtime/cuda/backward_pass.h"
#include "runtime/system/options.h"

namespace fa {
namespace {

/// "sm_90a": 90, and that it runs on nothing else.
struct Arch {
  int compute_capability = 0;
  bool is_exact = false;
};

Arch parse_arch(std::string_view arch) {
  constexpr std::string_view kStart = "sm_";
  Arch result;
  if (!arch.starts_with(kStart)) return result;
  const char* const end = arch.data() + arch.size();
  const auto [rest, error] = std::from_chars(arch.data() + kStart.size(), end, result.compute_capability);
  if (error != std::errc() || end - rest > 1) return {};
  result.is_exact = rest != end && *rest == 'a';
  return result;
}

std::string describe(const BundleEntry& entry) {
  return fmt::format("{} {} d{}", entry.name, dtype_name(entry.dtype), entry.head_dim);
}

/// A few of many.
std::string list(const std::set<std::string>& names) {
  constexpr std::size_t kMost = 12;
  const std::vector<std::string> first(
      names.begin(), std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(names.size(), kMost))));
  const std::string more = names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), more);
}

/// NVRTC's cubins load in drivers of its own major version of CUDA or a later one.
void check_driver_version(const BundleState& bundle, const DeviceInfo& gpu) {
  const int needed = bundle.contents.nvrtc / 100;
  if (gpu.driver_version / 1000 >= needed) return;
  throw DeviceError(
      fmt::format(
          "{} was built with NVRTC {}.{}, and the driver here is for CUDA {}.{}: update the driver, or build "
          "the bundle with an NVRTC of CUDA {} (FA_NVRTC)",
          bundle.path, needed, bundle.contents.nvrtc % 100, gpu.driver_version / 1000,
          gpu.driver_version % 1000 / 10, gpu.driver_version / 1000),
      0);
}

/// Loads all of a kernel's cubins.
CudaBuckets load_buckets(const CudaDevice& device, const BundleKernel& kernel) {
  std::vector<CudaBucket> buckets;
  for (const BundleBucket& bucket : kernel.buckets)
    buckets.push_back(
        {.bucket = bucket.bucket, .plan = bucket.plan, .code = load_cuda(device, bucket.binary)});
  buckets.push_back({.bucket = {}, .plan = kernel.plan, .code = load_cuda(device, kernel.binary)});
  return CudaBuckets(std::move(buckets));
}

}  // namespace

bool runs_on(std::string_view arch, int compute_capability) {
  const auto [built_for, is_exact] = parse_arch(arch);
  if (is_exact) return built_for == compute_capability;
  return built_for / 10 == compute_capability / 10 && built_for <= compute_capability;
}

std::shared_ptr<const BundleState> make_bundle_state(std::string path, BundleContents contents) {
  auto state = std::make_shared<BundleState>();
  state->path = std::move(path);
  for (const BundleKernel& kernel : contents.kernels) {
    const Spec& spec = contents.specs[kernel.spec];
    std::size_t bytes = 0;
    std::vector<KernelPlan> plans;
    for_each_binary(kernel, [&](const Binary& binary) { bytes += binary.image.size(); });
    const std::size_t count = kernel.buckets.size() + 1;
    for (const BundleBucket& bucket : kernel.buckets)
      plans.push_back({.calls = describe_bucket(bucket.bucket, count), .plan = bucket.plan});
    plans.push_back({.calls = describe_bucket({}, count), .plan = kernel.plan});
    state->entries.push_back({.name = spec.name(),
                              .head_dim = spec.head_dim(),
                              .head_dim_v = spec.head_dim_v(),
                              .dtype = spec.dtype(),
                              .arch = kernel.arch,
                              .plan = kernel.plan,
                              .plans = std::move(plans),
                              .bytes = bytes,
                              .backward = kernel.backward.has_value()});
  }
  state->contents = std::move(contents);
  return state;
}

const BundleKernel& pick_kernel(const BundleState& bundle, std::string_view name, int head_dim, DType dtype,
                                const DeviceInfo& gpu) {
  const BundleKernel* best = nullptr;
  std::pair<int, bool> best_rank;
  std::set<std::string> all, archs;
  for (std::size_t i = 0; i < bundle.entries.size(); ++i) {
    const BundleEntry& entry = bundle.entries[i];
    all.insert(describe(entry));
    if (entry.name != name || entry.head_dim != head_dim || entry.dtype != dtype) continue;
    archs.insert(entry.arch);
    const Arch arch = parse_arch(entry.arch);
    const std::pair rank{arch.compute_capability, arch.is_exact};
    if (!runs_on(entry.arch, gpu.compute_capability) || (best != nullptr && rank <= best_rank)) continue;
    best = &bundle.contents.kernels[i];
    best_rank = rank;
  }
  if (best != nullptr) return *best;
  const std::string wanted = fmt::format("{} {} d{}", name, dtype_name(dtype), head_dim);
  if (archs.empty()) {
    throw BundleError(fmt::format("{} has no kernel {}: it has {}; build it again with that spec",
                                  bundle.path, wanted, list(all)));
  }
  throw BundleError(fmt::format("{} has {} for {}, and {} needs sm_{}: build it again with --arch sm_{}",
                                bundle.path, wanted, list(archs), gpu.name, gpu.compute_capability,
                                gpu.compute_capability));
}

Kernel load_kernel(const BundleState& bundle, std::string_view name, int head_dim, DType dtype,
                   const CudaDevice& device) {
  const auto start = std::chrono::steady_clock::now();
  const DeviceInfo& gpu = device.info();
  const BundleKernel& kernel = pick_kernel(bundle, name, head_dim, dtype, gpu);
  const Spec& spec = bundle.contents.specs[kernel.spec];
  CompileTimes times;
  times.source = CompileTimes::Source::memory;
  const Key key = memory_key(spec, Device::cuda, gpu.ordinal, 0, kernel.plan, kernel.arch);
  auto loaded = bundle.loaded.find_or_make(key, [&] {
    check_driver_version(bundle, gpu);
    times.source = CompileTimes::Source::disk;
    auto made = std::make_shared<LoadedKernel>(LoadedKernel{.spec = spec,
                                                            .device = Device::cuda,
                                                            .target = kernel.arch,
                                                            .plan = kernel.plan,
                                                            .cuda = load_buckets(device, kernel),
                                                            .host = {}});
    made->backward_remedy = "build the bundle with `facet build --backward`";
    if (kernel.backward)
      made->backward = backward_on_gpu(load_cuda(device, kernel.backward->binary), spec.checked());
    return std::shared_ptr<const LoadedKernel>(std::move(made));
  });
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  times.load = times.total = passed.count();
  return Kernel(
      std::make_shared<const KernelState>(KernelState{.loaded = std::move(loaded), .times = times}));
}

const std::string& Bundle::path() const { return state_->path; }
const std::vector<BundleEntry>& Bundle::entries() const { return state_->entries; }

Kernel Bundle::kernel(std::string_view name, int head_dim, DType dtype, int cuda_device) const {
  const int ordinal = cuda_device == 0 ? environment().cuda_device : cuda_device;
  return load_kernel(*state_, name, head_dim, dtype, CudaDevice::get(ordinal));
}

Bundle load_bundle(const std::string& path) {
  const std::string file = bundle_file(path);
  return Bundle(make_bundle_state(file, read_bundle(file)));
}

}  // namespace fa
