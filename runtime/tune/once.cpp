#include "runtime/tune/once.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <thread>

#include "compiler/analysis/mask_tensors.h"
#include "runtime/tune/made_up_call.h"
#include "runtime/tune/tune.h"

namespace fa {
namespace {

constexpr ProblemSize kHostSize{
    .batch = 1, .num_q_heads = 4, .num_kv_heads = 4, .q_len = 1024, .kv_len = 1024};
constexpr std::int64_t kMostTensorBytes = std::int64_t{1} << 30;
constexpr std::size_t kMostPlans = 6;  // the few most promising ones

TunedChoice not_timed(const std::string& why) {
  return {.plan = {}, .said = fmt::format("not timed: {}; run facet tune", why)};
}

/// What is timed: on a GPU the size that the compiler asks its model about, where a quarter of the free memory holds it.
std::optional<ProblemSize> size_to_time(const Spec& spec, const CudaDevice* device) {
  if (device == nullptr) return size_that_fits(spec, kHostSize, kMostTensorBytes);
  return size_that_fits(spec, {}, std::min(kMostTensorBytes, device_memory(*device).free / 4));
}

TunedChoice time_now(const Spec& spec, const Target& target, const Options& options, const PlanStore& store,
                     const CudaDevice* device) {
  const std::optional<ProblemSize> fitting = size_to_time(spec, device);
  if (!fitting) throw std::bad_alloc();
  const ProblemSize size = *fitting;
  MadeUpCall timer(spec, size, device);
  // Threads build a GPU's kernels ahead while one is timed; on the host a kernel needs the cores itself.
  const unsigned cores = options.num_threads > 0 ? static_cast<unsigned>(options.num_threads)
                                                 : std::thread::hardware_concurrency();
  const TuneRequest request{
      .spec = spec,
      .options = options,
      .size = size,
      .problem = fmt::format("B{} H{} N{}", size.batch, size.num_q_heads, size.q_len),
      .search = {.budget_seconds = options.tune_seconds, .share = 0, .least = kMostPlans},
      .is_for_size = device != nullptr,
      .builders = device != nullptr ? std::max(1, static_cast<int>(cores)) : 0};
  const TuneOutcome outcome = tune(request, target, store, timer);
  const TunedPlan& best = outcome.best;
  TunedChoice choice{
      .plan = {},
      .said = fmt::format("timed {} of {} plans in {:.2f} s: {:.2f}x the default plan's speed at {}{}",
                          best.timed, best.of, outcome.seconds, best.gain, best.problem,
                          outcome.not_kept.empty() ? "" : "; not kept: " + outcome.not_kept),
      .milliseconds = outcome.seconds * 1e3};
  if (best.timed <= 1) return choice;
  if (best.size)
    choice.known.push_back({.size = *best.size,
                            .choice = {.plan = parse_plan(best.plan, {}), .why = choice.said},
                            .is_measured = true});
  else
    choice.plan = best.plan;
  return choice;
}

}  // namespace

TunedChoice tune_once(const Spec& spec, Device device, const Target& target, const Options& options,
                      const PlanStore& store) {
  if (const auto read = mask_tensors(spec.checked(), lower(spec.checked())); !read.empty())
    return not_timed(fmt::format("the mask reads {}, and what that holds decides which plan is the fastest",
                                 fmt::join(read, ", ")));
  Options resolved = options;
  resolved.device = device;
  resolved.backward = resolved.checked = false;  // the plan is the forward pass's
  try {
    return time_now(spec, target, resolved, store,
                    device == Device::cuda ? &CudaDevice::get(options.cuda_device) : nullptr);
  } catch (const DeviceError& error) {
    return not_timed(error.what());
  } catch (const ArgumentError& error) {  // calls of this size cannot be
    return not_timed(error.what());
  } catch (const std::bad_alloc&) {
    return not_timed("there is too little memory for the tensors");
  }
}

}  // namespace fa
