#include "runtime/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>

#include "compiler/compile.h"
#include "compiler/tune/candidates.h"
#include "compiler/tune/predict.h"
#include "runtime/tune/choice.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/made_ahead.h"
#include "runtime/tune/shipped/tables.h"

namespace fa {
namespace {

void put_first(const Plan& plan, std::vector<Plan>& plans) {
  const auto at = std::ranges::find(plans, plan);
  if (at == plans.end()) {
    plans.insert(plans.begin(), plan);
  } else {
    std::rotate(plans.begin(), at, at + 1);
  }
}

/// The prediction for the size that is timed, else the latest of all.
std::optional<TunedPlan> find_prediction(const std::vector<TunedPlan>& all, const TuneRequest& request) {
  std::optional<TunedPlan> found;
  for (const TunedPlan& plan : all) {
    const bool is_near = plan.size == request.size;
    const bool was_near = found && found->size == request.size;
    if (!found || is_near > was_near || (is_near == was_near && plan.date >= found->date)) found = plan;
  }
  return found;
}

class Tuner final : public PlanTimer {
 public:
  Tuner(const TuneRequest& request, const Target& target, const PlanStore& store, KernelTimer& timer,
        const TuneWatch& watch)
      : request_(request),
        store_(store),
        timer_(timer),
        watch_(watch),
        label_(kernel_label(request.spec.checked(), target.name)),
        key_(tune_key(request.spec, request.options.device, target, request.options)),
        plans_(candidates(request, target, store)),
        kernels_(plans_.size(), request.builders, [this](std::size_t plan) { return compile_plan(plan); }) {}

  TuneOutcome run() {
    const std::vector<PlanScore> known = stored();
    SearchSettings settings = request_.search;
    settings.exhaustive = settings.exhaustive || is_predicted_;
    // What else a CPU runs comes and goes within tenths of a second: a short turn is slowed whole, or it stands out.
    if (request_.options.device == Device::host) {
      settings.first_runs = 4;
      settings.runs_of_turn = 1;
      settings.fastest_counts = true;
    }
    const SearchResult result =
        search({.count = plans_.size(),
                .next_to = [&](std::size_t plan) { return plans_next_to(plans_, plan); },
                .first_of_kinds = first_of_kinds(plans_)},
               settings, *this, known);
    if (result.timed == 0 && result.failed > 0) throw BuildError("no plan can be built and run", failure_);
    TuneOutcome outcome;
    outcome.best = record(result.scores[result.best], result.gain, result.timed);
    outcome.best.finished = result.is_finished;
    if (result.timed > 1) keep(outcome.best);
    outcome.failed = result.failed;
    outcome.resumed = known.size();
    outcome.is_predicted = is_predicted_;
    outcome.seconds = elapsed();
    outcome.not_kept = not_kept_;
    outcome.scores = result.scores;
    for (const Plan& plan : plans_) outcome.plans.push_back(plan.print());
    return outcome;
  }

  std::optional<double> time(std::size_t candidate, int runs) override {
    try {
      return timer_.seconds(kernels_.get(candidate), runs);
    } catch (const BuildError& error) {
      failure_ = error.what();
    } catch (const DeviceError& error) {
      failure_ = error.what();
    }
    return {};
  }

  void expect(const std::vector<std::size_t>& candidates) override { kernels_.expect(candidates); }

  double elapsed() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  bool is_stopped() override { return watch_.is_stopped && watch_.is_stopped(); }

  void note(const PlanScore& score) override {
    timed_[score.candidate] = true;
    const std::string problem = store_.note({.key = key_,
                                             .problem = request_.problem,
                                             .plan = plans_[score.candidate].print(),
                                             .runs = score.runs,
                                             .ratio = score.ratio,
                                             .ms = score.seconds * 1e3,
                                             .failed = score.failed});
    if (!problem.empty()) not_kept_ = problem;
    if (!score.failed && score.ratio < leader_.ratio) leader_ = score;
    if (watch_.progress)
      watch_.progress({.timed = static_cast<std::size_t>(std::ranges::count(timed_, true)),
                       .of = plans_.size(),
                       .leader = plans_[leader_.candidate].print(),
                       .gain = 1 / leader_.ratio,
                       .elapsed = elapsed()});
  }

  void leads(const PlanScore& score) override {
    keep(record(score, 1 / score.ratio, static_cast<std::size_t>(std::ranges::count(timed_, true))));
  }

 private:
  /// Called by several threads.
  Kernel compile_plan(std::size_t candidate) const {
    Options options = request_.options;
    options.plan = plans_[candidate].print();
    options.tune = Tune::never;
    options.memory_cache = false;  // most of these kernels are never called again
    return compile(request_.spec, options);
  }

  /// Where a prediction for this GPU came to its end, the plans that it found worth timing; else all.
  std::vector<Plan> candidates(const TuneRequest& request, const Target& target, const PlanStore& store) {
    const CheckedSpec& spec = request.spec.checked();
    const Compiled compiled = compile_front_end(spec, target);
    std::vector<Plan> all =
        tuning_candidates(spec, compiled.facts, target, request.size, request.share_of_tiles);
    const bool on_cuda = request.options.device == Device::cuda;
    std::string ignored;  // an unreadable store is said where the result is kept
    // What ships is timed in any case: this machine's measurement is to replace it, and may be worse at a short search.
    const std::vector<std::string> shipped =
        on_cuda ? shipped_candidates(target, ignored) : std::vector<std::string>();
    for (const std::string& plan : shipped)
      if (why_unusable(plan, spec, target).empty()) put_first(parse_plan(plan, {}), all);
    // The default is what such calls get without a tuner.
    put_first(line_for(compiled.plans, size_of(request.size)).choice.plan, all);
    if (!on_cuda || request.search.exhaustive) return all;
    const auto predicted =
        find_prediction(store.find({predicted_key(request.spec, target)}, ignored), request);
    if (!predicted || !predicted->finished || predicted->worth_timing.empty()) return all;
    is_predicted_ = true;
    std::vector<std::string> named = shipped;
    std::ranges::copy(predicted->worth_timing, std::back_inserter(named));
    return predicted_candidates(all.front(), named, spec, target);
  }

  /// Each plan that ships for this GPU once, at whatever size.
  std::vector<std::string> shipped_candidates(const Target& target, std::string& problem) const {
    std::vector<std::string> plans;
    for (const TunedPlan& plan : shipped_plans(target.name, spec_hash(request_.spec), problem))
      if (std::ranges::find(plans, plan.plan) == plans.end()) plans.push_back(plan.plan);
    return plans;
  }

  /// What an earlier search has left, by the candidates of this one.
  std::vector<PlanScore> stored() {
    std::vector<PlanScore> known;
    for (const TunedTiming& timing : store_.timings(key_, request_.problem)) {
      const auto plan = std::ranges::find(plans_, timing.plan, &Plan::print);
      if (plan == plans_.end() || timing.failed)
        continue;  // what failed is tried again: memory may be free now
      const auto candidate = static_cast<std::size_t>(plan - plans_.begin());
      known.push_back({.candidate = candidate,
                       .runs = timing.runs,
                       .ratio = timing.ratio,
                       .seconds = timing.ms * 1e-3,
                       .failed = timing.failed});
      timed_[candidate] = true;
      if (timing.ratio < leader_.ratio) leader_ = known.back();
    }
    return known;
  }

  TunedPlan record(const PlanScore& score, double gain, std::size_t timed) const {
    return {.key = key_,
            .label = label_,
            .problem = request_.problem,
            .plan = plans_[score.candidate].print(),
            .ms = score.seconds * 1e3,
            .gain = gain,
            .default_plan = plans_.front().print(),
            .timed = static_cast<int>(timed),
            .of = static_cast<int>(plans_.size()),
            .finished = false,
            .date = static_cast<std::int64_t>(std::time(nullptr)),
            .size = request_.is_for_size ? std::optional(request_.size) : std::nullopt};
  }

  void keep(const TunedPlan& plan) {
    if (const std::string problem = store_.keep({plan}); !problem.empty()) not_kept_ = problem;
  }

  const TuneRequest& request_;
  const PlanStore& store_;
  KernelTimer& timer_;
  const TuneWatch& watch_;
  const std::string label_;
  const TuneKey key_;
  bool is_predicted_ = false;  // before plans_, whose making sets it
  const std::vector<Plan> plans_;
  std::vector<bool> timed_ = std::vector<bool>(plans_.size());
  PlanScore leader_;
  std::string not_kept_, failure_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  MadeAhead<Kernel> kernels_;  // last: its threads use what is above
};

}  // namespace

TuneOutcome tune(const TuneRequest& request, const Target& target, const PlanStore& store, KernelTimer& timer,
                 const TuneWatch& watch) {
  return Tuner(request, target, store, timer, watch).run();
}

std::string kernel_label(const CheckedSpec& spec, std::string_view target) {
  return kernel_label(spec.name, spec.dtype, spec.head_dim, spec.head_dim_v, target);
}

std::string kernel_label(std::string_view spec, DType dtype, int head_dim, int head_dim_v,
                         std::string_view target) {
  const std::string dims =
      head_dim == head_dim_v ? fmt::format("d{}", head_dim) : fmt::format("d{}v{}", head_dim, head_dim_v);
  return fmt::format("{} {} {} {}", spec, dtype_name(dtype), dims, target);
}

}  // namespace fa
