// fa::compile: memory cache, front end, disk cache, code generator, loader. The other end of
// compiler/compile.cpp.
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "compiler/schedule/baseline/baseline.h"
#include "runtime/build/build.h"
#include "runtime/build/device_target.h"
#include "runtime/build/key.h"
#include "runtime/call/arguments.h"
#include "runtime/checked.h"
#include "runtime/cuda/backward_pass.h"
#include "runtime/host/backward.h"
#include "runtime/host/baseline.h"
#include "runtime/host/jit.h"
#include "runtime/host/run.h"
#include "runtime/store/memory_cache.h"
#include "runtime/system/options.h"
#include "runtime/tune/choice.h"
#include "runtime/tune/tune.h"

namespace fa {
namespace {

/// Milliseconds since it was made or last asked.
class Lap {
 public:
  double operator()() {
    const auto now = Clock::now();
    const std::chrono::duration<double, std::milli> passed = now - start_;
    start_ = now;
    return passed.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Throws where another GPU's kernels are asked for and there is no GPU to run them: the host is no
/// substitute for that.
Device pick_device(const Options& options) {
  if (!options.target.empty()) check_gpu_target(options.target);
  if (options.device != Device::automatic) return options.device;
  const std::string& problem = why_no_cuda(options.cuda_device);
  if (problem.empty()) return Device::cuda;
  if (!options.target.empty())
    throw DeviceError(
        fmt::format("the kernels of target '{}' need a GPU: {} (Options::target, --gpu, FA_TARGET)",
                    options.target, problem),
        0);
  return Device::host;
}

/// What `load` makes of the object from the cache, where it is there and this build can link it, else of a
/// new one of `emit`.
template <class Load, class Emit>
auto load_or_build_host(const Key& key, const std::string& label, const DiskCache& cache, CompileTimes& times,
                        const Load& load, const Emit& emit) {
  Lap lap;
  if (const std::optional<CacheEntry> entry = cache.get(key, &times.miss)) {
    try {
      auto kernel = load(entry->payload);
      times.load += lap();
      return kernel;
    } catch (const BuildError& error) {
      times.miss = fmt::format("the entry does not link: {}", error.log());
    }
  }
  times.source = CompileTimes::Source::compiled;
  const std::string object = host_object(emit());
  if (!cache.folder().empty()) times.not_kept = cache.put(key, {.label = label, .payload = object});
  times.build += lap();
  auto kernel = load(object);
  times.load += lap();
  return kernel;
}

HostForward baseline_on_host(std::shared_ptr<const HostBaselineKernel> code, int threads) {
  return {
      .run = [code, threads](const ForwardParams& params,
                             void* workspace) { run_host_baseline(*code, params, workspace, threads); },
      .workspace_needed = [code](const CallParams& call) { return host_baseline_workspace(*code, call); }};
}

/// The kernel's functions on the host.
void add_host(LoadedKernel& kernel, const CheckedSpec& spec, const Compiled& compiled, const Target& target,
              const DiskCache& cache, int threads, CompileTimes& times) {
  const std::string label = kernel_label(spec, "host");
  times.source = CompileTimes::Source::disk;  // unless one of them is built
  const auto forward = [&](const auto& load) {
    return load_or_build_host(host_cache_key(host_key(spec, compiled)), label, cache, times, load,
                              [&] { return emit_for_host(spec, compiled, target); });
  };
  if (compiled.choice.plan.is_baseline()) {
    kernel.host = baseline_on_host(forward(load_host_baseline), threads);
    return;
  }
  kernel.host.run = [code = forward(load_host), threads](const ForwardParams& params, void*) {
    run_host(*code, params, threads);
  };
  if (!compiled.derivatives) return;
  const auto code = load_or_build_host(host_cache_key(host_backward_key(spec, compiled)),
                                       label + ", backward", cache, times, load_host_backward,
                                       [&] { return emit_backward_for_host(spec, compiled, target); });
  kernel.backward = {
      .workspace_bytes =
          [code](const BackwardCall& call) { return HostBackwardLayout(*code, call).workspace_bytes(); },
      .run = [code, threads](const BackwardCall& call, void* workspace,
                             Stream) { run_host_backward(*code, call, workspace, threads); }};
}

/// The kernels of sources, each from the disk cache or built, all at the same time.
std::vector<std::shared_ptr<const CudaKernel>> load_or_build_cuda(const CudaDevice& device,
                                                                  std::span<const BuildRequest> requests,
                                                                  const DiskCache& cache,
                                                                  CompileTimes& times) {
  Lap lap;
  const std::vector<BuildResult> all = build_all(requests, cache);
  const double took = lap();
  times.source = CompileTimes::Source::disk;  // unless one of them was built
  for (const BuildResult& built : all) {
    if (times.miss.empty()) times.miss = built.miss;
    if (times.not_kept.empty()) times.not_kept = built.not_kept;
  }
  if (std::ranges::all_of(all, &BuildResult::from_disk)) {
    times.load += took;
  } else {
    times.source = CompileTimes::Source::compiled;
    times.build = took;
  }
  device.context();  // begun in make_kernel
  times.driver += lap();
  std::vector<std::shared_ptr<const CudaKernel>> kernels;
  for (const BuildResult& built : all) kernels.push_back(load_cuda(device, built.binary));
  times.load += lap();
  return kernels;
}

/// What `plan` returns; what is wrong with a plan that is forced says which it is and where it may come from.
BackwardPlan naming_backward_plan(const Options& options, const auto& plan) {
  try {
    return plan();
  } catch (const ArgumentError& error) {
    if (options.backward_plan.empty()) throw;
    throw ArgumentError(fmt::format("the backward plan '{}' (Options::backward_plan, FA_BACKWARD_PLAN): {}",
                                    options.backward_plan, error.what()));
  }
}

/// The kernel's functions on a GPU: the programs of the forward pass, by bucket, and the backward pass.
void add_cuda(LoadedKernel& kernel, const CheckedSpec& spec, const Compiled& compiled,
              const TableSources& sources, const Target& target, const CudaDevice& device,
              const DiskCache& cache, const Options& options, CompileTimes& times) {
  const std::string label = kernel_label(spec, target.name);
  std::vector<BuildRequest> requests;
  for (const Source& source : sources.sources) requests.push_back({&source, label});
  std::optional<Source> backward;
  if (compiled.derivatives) {
    const BackwardPlan plan = naming_backward_plan(options, [&] {
      return plan_backward(spec, compiled, target, options.deterministic, options.backward_plan);
    });
    backward = emit_backward_for_gpu(spec, compiled, plan, target);
    requests.push_back({&*backward, label + ", backward"});
  }
  const auto kernels = load_or_build_cuda(device, requests, cache, times);
  std::vector<CudaBucket> buckets;
  for (std::size_t line = 0; line < compiled.plans.size(); ++line)
    buckets.push_back({.bucket = compiled.plans[line].bucket,
                       .plan = compiled.plans[line].choice.plan.print(),
                       .code = kernels[sources.of_line[line]]});
  kernel.cuda = CudaBuckets(std::move(buckets));
  if (backward) kernel.backward = backward_on_gpu(kernels.back(), spec);
}

/// Compiles a kernel that the memory cache does not have.
std::shared_ptr<const LoadedKernel> make_kernel(const Spec& spec, Device device, const Options& options,
                                                CompileTimes& times) {
  const CheckedSpec& checked = spec.checked();
  const DiskCache cache = open_cache(options.disk_cache ? options.cache_dir : std::string());
  Lap lap;
  const CudaDevice* const gpu = device == Device::cuda ? &CudaDevice::get(options.cuda_device) : nullptr;
  if (gpu != nullptr) times.driver += lap();
  const Target& target = gpu != nullptr ? target_named(options.target, gpu->info()) : host_target();

  // The first context of a process takes as long as a build, so it is created at the same time.
  std::future<CUctx_st*> context;
  if (gpu != nullptr && !gpu->has_context())
    context = std::async(std::launch::async, [gpu] { return gpu->context(); });

  const TunedChoice tuned = tuned_choice(spec, device, target, options);
  times.tune = tuned.milliseconds;
  times.tuned = tuned.said;
  lap();
  Compiled compiled =
      compile_front_end(checked, target, tuned.plan.empty() ? options.plan : tuned.plan,
                        options.backward ? Passes::forward_and_backward : Passes::forward, tuned.known);
  const TableSources sources = gpu != nullptr ? take_sources(checked, compiled, target) : TableSources{};
  times.front_end = lap();

  auto kernel = std::make_shared<LoadedKernel>(LoadedKernel{.spec = spec,
                                                            .device = device,
                                                            .target = std::string(target.name),
                                                            .plan = compiled.choice.plan.print(),
                                                            .cuda = nullptr,
                                                            .host = {}});
  if (gpu != nullptr) {
    add_cuda(*kernel, checked, compiled, sources, target, *gpu, cache, options, times);
  } else {
    add_host(*kernel, checked, compiled, target, cache, options.num_threads, times);
  }
  if (options.checked) kernel->check = make_check(spec, options, device);
  return kernel;
}

}  // namespace

Kernel compile(const Spec& spec, const Options& requested) {
  Lap total, lap;
  Options options = resolve(requested, environment());
  options.plan = plan_of_impl(options.impl, options.plan);
  if (options.backward) refuse_backward(loop_order_of(options.plan));
  // A plan that cannot be read is an error on the host, too, which has no use for it.
  if (options.backward)
    naming_backward_plan(options, [&] { return parse_backward_plan(options.backward_plan, {}); });
  lap();
  const Device device = pick_device(options);
  const double device_found = lap();  // the driver's start, where nothing needed it before
  CompileTimes times;
  std::shared_ptr<const LoadedKernel> loaded;
  if (options.memory_cache) {
    // Settings of the other device are not part of the key, since they change nothing.
    const Key key =
        device == Device::cuda
            ? memory_key(spec, device, options.cuda_device, 0, options.plan, options.target, options.checked,
                         options.tune, options.backward, options.deterministic, options.backward_plan)
            : memory_key(spec, device, 0, options.num_threads, options.plan, {}, options.checked,
                         options.tune, options.backward);
    times.source = CompileTimes::Source::memory;  // unless it is made here
    loaded = MemoryCache::get().find_or_make(key, [&] {
      times.source = CompileTimes::Source::compiled;
      return make_kernel(spec, device, options, times);
    });
  } else {
    loaded = make_kernel(spec, device, options, times);
  }
  if (device == Device::cuda && times.source != CompileTimes::Source::memory) times.driver += device_found;
  times.total = total();
  return Kernel(
      std::make_shared<const KernelState>(KernelState{.loaded = std::move(loaded), .times = times}));
}

}  // namespace fa
