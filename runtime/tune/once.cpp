#include "runtime/tune/once.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/tune/tune.h"

namespace fa {
namespace {

constexpr ProblemSize kSize{.batch = 1, .num_q_heads = 4, .num_kv_heads = 4, .q_len = 1024, .kv_len = 1024};
constexpr double kMostOfOne = 0.3;     // seconds of one plan's runs: tune_seconds is looked at between plans
constexpr std::size_t kMostPlans = 6;  // the few most promising ones

/// q, k and v in memory of this process. Their values decide no kernel's time, as long as they are ordinary
/// numbers.
class MadeUp final : public KernelTimer {
 public:
  explicit MadeUp(const Spec& spec)
      : q_(elements(kSize.q_len, spec.head_dim()), spec.dtype()),
        k_(elements(kSize.kv_len, spec.head_dim()), spec.dtype()),
        v_(elements(kSize.kv_len, spec.head_dim_v()), spec.dtype()),
        o_(elements(kSize.q_len, spec.head_dim_v()), spec.dtype()) {
    const auto view = [&](Buffer& buffer, int length, int dim) {
      return Tensor::bhsd(buffer.bytes.data(), spec.dtype(), kSize.batch, kSize.num_q_heads, length, dim);
    };
    args_.q = view(q_, kSize.q_len, spec.head_dim());
    args_.k = view(k_, kSize.kv_len, spec.head_dim());
    args_.v = view(v_, kSize.kv_len, spec.head_dim_v());
    args_.o = view(o_, kSize.q_len, spec.head_dim_v());
  }

  std::optional<double> seconds(const Kernel& kernel, int runs) override {
    using Clock = std::chrono::steady_clock;
    kernel.forward(args_);  // K and V in the cache, and the threads awake
    double best = 1e30, sum = 0;
    for (int run = 0; run < runs; ++run) {
      const auto start = Clock::now();
      kernel.forward(args_);
      const double took = std::chrono::duration<double>(Clock::now() - start).count();
      best = std::min(best, took);
      sum += took;
      if (sum > kMostOfOne) break;
    }
    return std::max(best, 1e-9);
  }

 private:
  static std::size_t elements(int length, int dim) {
    return static_cast<std::size_t>(kSize.batch) * static_cast<std::size_t>(kSize.num_q_heads) *
           static_cast<std::size_t>(length) * static_cast<std::size_t>(dim);
  }

  struct Buffer {
    std::vector<std::byte> bytes;
    Buffer(std::size_t count, DType dtype) : bytes(count * (dtype == DType::f32 ? 4 : 2)) {
      // Numbers from 0.5 to 1, in the type's upper 16 bits: sign 0, an exponent, and bits that vary.
      const std::uint16_t base = dtype == DType::f16 ? 0x3800 : 0x3f00;
      const std::size_t step = dtype == DType::f32 ? 4 : 2;
      for (std::size_t i = 0; i < count; ++i) {
        const auto bits = static_cast<std::uint16_t>(base + (i * 2654435761U >> 12U) % 0x7f);
        std::memcpy(bytes.data() + i * step + (step - 2), &bits, sizeof bits);
      }
    }
  };

  Buffer q_, k_, v_, o_;
  ForwardArgs args_;
};

}  // namespace

TunedChoice tune_once(const Spec& spec, Device device, const Target& target, const Options& options,
                      const PlanStore& store) {
  if (device != Device::host)
    return {.plan = {}, .said = "not timed: Tune::once knows the host only so far; run facet tune"};
  if (!spec.tensors().empty())
    return {
        .plan = {},
        .said = "not timed: what the spec's tensors hold decides which plan is the fastest; run facet tune"};
  TuneRequest request{.spec = spec,
                      .options = options,
                      .size = kSize,
                      .problem = fmt::format("B{} H{} N{}", kSize.batch, kSize.num_q_heads, kSize.q_len),
                      .search = {.budget_seconds = options.tune_seconds, .share = 0, .least = kMostPlans}};
  request.options.device = device;
  MadeUp timer(spec);
  const TuneOutcome outcome = tune(request, target, store, timer);
  const TunedPlan& best = outcome.best;
  return {.plan = best.timed > 1 ? best.plan : std::string(),
          .said = fmt::format("timed {} of {} plans in {:.2f} s: {:.2f}x the default plan's speed at {}{}",
                              best.timed, best.of, outcome.seconds, best.gain, best.problem,
                              outcome.not_kept.empty() ? "" : "; not kept: " + outcome.not_kept),
          .milliseconds = outcome.seconds * 1e3};
}

}  // namespace fa
