// Timing: warm-up, as many launches as fill the time asked for, rotation over copies of the tensors.
#include "tools/measure/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/compile.h"
#include "compiler/schedule/baseline/baseline.h"
#include "compiler/schedule/plan.h"
#include "compiler/target/target.h"
#include "tools/command/targets.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/gradients/report.h"
#include "tools/measure/copies.h"
#include "tools/measure/flops.h"
#include "tools/problem/describe.h"
#include "tools/reference/error_bound.h"
#include "tools/reference/reference.h"

namespace fa::tools {

BenchResult begin_result(const Spec& spec, const ProblemSize& size) {
  BenchResult result;
  result.spec = spec.name();
  result.file = spec.checked().file;
  result.dtype = spec.dtype();
  result.head_dim = spec.head_dim();
  result.head_dim_v = spec.head_dim_v();
  result.size = size;
  return result;
}

namespace {

constexpr double kWarmUpMs = 50;

TimingSummary time_kernel(Session& session, const Kernel& kernel, double time_ms) {
  const double first = std::max(1e-3, session.time(kernel, 1)[0]);
  // The first launch may include one-time work of the driver, so the estimate comes from the warm-up.
  const auto warm = session.time(kernel, static_cast<int>(std::clamp(kWarmUpMs / first, 1.0, 1000.0)));
  const double each = std::max(1e-3, summarise(warm).median);
  const int runs = static_cast<int>(std::clamp(time_ms / each, 5.0, 10000.0));
  return summarise(session.time(kernel, runs));
}

class Bench {
 public:
  Bench(const Spec& spec, const ProblemInputs& inputs, const BenchSettings& settings)
      : spec_(spec), settings_(settings), progress_(fmt::format("{}: making tensors", spec.name())) {
    problem_ = make_problem(spec, inputs);
    stop_if_interrupted();
    base_ = begin_result(spec, inputs.size);
    base_.impl = impl_name(settings.options.impl);
    progress_.relabel(fmt::format("{}: counting", spec.name()));
    const auto counted = count_flops(*problem_, settings.every_score);
    base_.flops = counted.flops;
    base_.flops_counted = counted.what;
    stop_if_interrupted();
  }

  BenchedProblem run() {
    progress_.relabel(fmt::format("{}: compiling", spec_.name()));
    std::optional<Kernel> chosen;
    const bool many = settings_.all_plans || settings_.sweep;
    base_.plan = settings_.options.plan;
    BenchResult result = attempt(base_, [&] {
      chosen = compile_with(spec_, settings_.options);
      prepare(*chosen);
      return many ? base_ : measure(*chosen, base_);
    });
    if (!many || !result.error.empty()) return {.results = {std::move(result)}};

    const std::vector<BenchResult> points = settings_.sweep ? points_of_sweep(*chosen) : every_plan();
    BenchedProblem benched;
    try {
      for (std::size_t i = 0; i < points.size(); ++i) {
        stop_if_interrupted();
        progress_.relabel(fmt::format("{}: plan {} of {}", spec_.name(), i + 1, points.size()));
        benched.results.push_back(time_plan(points[i]));
      }
    } catch (const Interrupted&) {
      benched.is_complete = false;
    }
    if (settings_.sweep) return benched;
    std::ranges::stable_sort(benched.results, [](const BenchResult& a, const BenchResult& b) {
      if (a.error.empty() != b.error.empty()) return a.error.empty();
      return a.time.median < b.time.median;
    });
    return benched;
  }

 private:
  void prepare(const Kernel& kernel) {
    const Target& device = device_of_kernel(kernel, settings_.options.cuda_device);
    base_.device = describe_device(kernel, settings_.options.cuda_device);
    base_.target = kernel.target();
    base_.on_cuda = kernel.device() == Device::cuda;
    base_.copies = copies_for(device, *problem_);
    session_.emplace(*problem_, kernel.device(), settings_.options.cuda_device, settings_.layout,
                     base_.copies);
    base_.bytes = session_->bytes_allocated() - (base_.copies - 1) * session_->bytes_per_copy();
    target_ = &target_of_kernel(kernel, settings_.options.cuda_device);
    facts_ = compile_front_end(spec_.checked(), *target_).facts;
  }

  /// What is timed under every legal plan.
  std::vector<BenchResult> every_plan() const {
    std::vector<BenchResult> points;
    for (const Plan& plan : legal_plans(spec_.checked(), *target_)) {
      points.push_back(base_);
      points.back().plan = plan.print();
    }
    return points;
  }

  /// What is timed under the plans of the sweep; those that cannot run have their errors already.
  std::vector<BenchResult> points_of_sweep(const Kernel& chosen) const {
    const Sweep& sweep = *settings_.sweep;
    const Plan base = parse_plan(session_->plan_of(chosen).plan, {});
    const std::vector<SweptPlan> plans =
        plans_of_sweep(sweep, base, settings_.options.plan, spec_.checked(), *facts_, *target_);
    const int chosen_value = plan_field(base, sweep.field).value();
    std::vector<BenchResult> points;
    for (const SweptPlan& swept : plans) {
      points.push_back(base_);
      points.back().plan = swept.plan;
      points.back().error = swept.error;
      points.back().swept =
          SweptValue{.field = sweep.field, .value = swept.value, .is_chosen = swept.value == chosen_value};
    }
    return points;
  }

  BenchResult time_plan(const BenchResult& point) {
    if (!point.error.empty()) return point;
    Options options = settings_.options;
    options.plan = point.plan;
    return attempt(point, [&] { return measure(compile(spec_, options), point); });
  }

  BenchResult measure(const Kernel& kernel, BenchResult result) {
    const KernelPlan used = session_->plan_of(kernel);
    result.plan = used.plan;
    result.plan_calls = used.calls;
    result.workspace_bytes = static_cast<std::int64_t>(session_->workspace_bytes(kernel));
    result.compile_ms = kernel.times().total;
    progress_.relabel(fmt::format("{}: timing {}", spec_.name(), used.plan));
    session_->poison_outputs();
    result.time = time_kernel(*session_, kernel, settings_.time_ms);
    result.tflops = result.flops / result.time.median * 1e-9;
    result.gb_per_s = static_cast<double>(session_->bytes_per_copy()) / result.time.median * 1e-6;
    result.traffic =
        count_traffic(spec_.checked(), *facts_, parse_plan(used.plan, {}), *target_, size_with_tensors());
    if (settings_.verify) result.verified = verify();
    if (settings_.backward) measure_backward(kernel, result);
    return result;
  }

  void measure_backward(const Kernel& kernel, BenchResult& result) {
    const GradientReport report = report_gradients(
        kernel, *problem_,
        {.layout = settings_.layout,
         .repeat = 0,
         .time_ms = settings_.time_ms,
         .most_runs = 10000,
         .rows = settings_.verify ? rows_to_verify() : 0,
         .forward_flops = result.flops,
         .cuda_device = settings_.options.cuda_device},
        [&](const char* step) { progress_.relabel(fmt::format("{}: {}", spec_.name(), step)); },
        [](double) { stop_if_interrupted(); });
    result.backward = {.time = report.time,
                       .forward_backward = report.forward_backward,
                       .flops = report.flops,
                       .workspace_bytes = report.gradients.workspace_bytes,
                       .allocated_bytes = report.gradients.allocated_bytes};
    if (settings_.verify) result.verified = *result.verified && report.rows > 0 && report.holds();
  }

  std::int64_t rows_to_verify() const {
    return std::min<std::int64_t>(256, affordable_rows(spec_, problem_->size));
  }

  /// The problem's size, with the bytes of captured tensors that the count of bytes asks for.
  ProblemSize size_with_tensors() const {
    ProblemSize size = problem_->size;
    size.captured_bytes = 0;
    for (const HostTensor& tensor : problem_->tensors)
      size.captured_bytes += static_cast<std::int64_t>(tensor.bytes.size());
    return size;
  }

  /// Returns what `work` returns, or `point` with the reason why it failed.
  static BenchResult attempt(const BenchResult& point, const std::function<BenchResult()>& work) {
    BenchResult failed = point;
    try {
      return work();
    } catch (const BuildError& error) {
      failed.error = fmt::format("{}: {}", error.what(), error.log().substr(0, error.log().find('\n')));
    } catch (const DeviceError& error) {
      failed.error = error.what();
    }
    return failed;
  }

  bool verify() {
    if (!reference_) {
      progress_.relabel(fmt::format("{}: computing the fp64 reference", spec_.name()));
      reference_ = reference_forward(*problem_, sample_rows(problem_->size, rows_to_verify()),
                                     [](double) { stop_if_interrupted(); });
    }
    const auto outputs = session_->outputs();
    const auto bound = error_bound(spec_.dtype(), spec_.head_dim(), problem_->size.kv_len);
    return compare(*reference_, bound, problem_->size, outputs.o, outputs.lse).holds();
  }

  const Spec& spec_;
  const BenchSettings& settings_;
  Progress progress_;
  std::optional<Problem> problem_;
  std::optional<Session> session_;
  std::optional<ReferenceRows> reference_;
  BenchResult base_;
  const Target* target_ = nullptr;  // of the kernels
  std::optional<Facts> facts_;
};

}  // namespace

BenchedProblem bench(const Spec& spec, const ProblemInputs& inputs, const BenchSettings& settings) {
  try {
    return Bench(spec, inputs, settings).run();
  } catch (const Interrupted&) {
    return {.results = {}, .is_complete = false};
  }
}

}  // namespace fa::tools
