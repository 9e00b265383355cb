#include "runtime/tune/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "compiler/compile.h"
#include "runtime/build/build.h"
#include "runtime/tune/builds.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/tune.h"

namespace fa {
namespace {

class Predictor {
 public:
  Predictor(const PredictRequest& request, const Target& target, const PlanStore& store,
            const PredictWatch& watch)
      : request_(request),
        target_(target),
        store_(store),
        watch_(watch),
        key_(predicted_key(request.spec, target)),
        built_key_(built_key(request.spec, target)),
        facts_(compile_front_end(request.spec.checked(), target).facts),
        table_(choose_plans(request.spec.checked(), facts_, target,
                            choose(request.spec.checked(), facts_, target))),
        plans_(plans_to_build(request.spec.checked(), facts_, target)),
        times_to_beat_(request.asked.size()) {
    // What calls of the sizes asked about get without a tuner comes first.
    for (const PredictRequest::Asked& asked : request.asked) {
      const Plan plan = default_at(asked.size);
      std::erase(plans_, plan);
      plans_.insert(plans_.begin(), plan);
    }
  }

  PredictOutcome run() {
    take_stored();
    outcome_.resumed = outcome_.builds.size();
    update_times_to_beat();
    build_all(plans_left());

    outcome_.of = plans_.size();
    for (const Plan& plan : plans_)
      if (!is_built(plan) && !is_needed(plan)) outcome_.not_needed.push_back(plan);
    outcome_.seconds = elapsed();
    const auto of_default = std::ranges::find(outcome_.builds, plans_.front().print(), &TunedBuild::plan);
    if (of_default == outcome_.builds.end()) return std::move(outcome_);
    if (!of_default->failure.empty())
      throw BuildError(fmt::format("the compiler's own choice, {}, cannot be built for {}: {}",
                                   plans_.front().print(), target_.name, of_default->failure),
                       {});
    std::rotate(outcome_.builds.begin(), of_default, of_default + 1);
    for (const PredictRequest::Asked& asked : request_.asked) choose_best(asked, built_);
    return std::move(outcome_);
  }

 private:
  void build_all(std::vector<Plan> left) {
    report();
    std::erase_if(left, [&](const Plan& plan) { return !may_begin(plan); });
    if (left.empty()) return;
    BuildsAhead ahead(std::move(left), std::max(1, request_.threads), [&](const Plan& plan) {
      return build_to_read(request_.spec, target_, plan, built_key_);
    });
    const auto look = [&] { ahead.keep_if([&](const Plan& plan) { return may_begin(plan); }); };
    while (std::optional<TunedBuild> build = ahead.next(look)) {
      if (const std::string problem = store_.note(*build); !problem.empty()) outcome_.not_kept = problem;
      ++now_;
      const std::optional<Plan> more = take(std::move(*build));
      update_times_to_beat();
      if (more && is_needed(*more) && may_begin(*more)) ahead.add(*more);
      ahead.keep_if([&](const Plan& plan) { return is_needed(plan); });
      report();
      look();
    }
  }

  /// What an earlier run has left, of the plans of this one: a plan that another one asks for follows it.
  void take_stored() {
    const std::vector<TunedBuild> stored = store_.builds(built_key_);
    for (std::size_t at = 0; at < plans_.size(); ++at) {
      const auto found = std::ranges::find(stored, plans_[at].print(), &TunedBuild::plan);
      if (found != stored.end()) take(*found);
    }
  }

  /// Adds a build to those that are known. Returns a plan that should be built because of it.
  std::optional<Plan> take(TunedBuild build) {
    if (std::ranges::find(outcome_.builds, build.plan, &TunedBuild::plan) != outcome_.builds.end()) return {};
    const Plan plan = parse_plan(build.plan, {});
    std::optional<Plan> more = build.failure.empty() ? relaxed(plan, build.built) : std::nullopt;
    if (more && std::ranges::find(plans_, *more) != plans_.end()) more.reset();
    if (more) plans_.push_back(*more);
    if (build.failure.empty()) built_.push_back({.plan = plan, .built = build.built});
    outcome_.builds.push_back(std::move(build));
    return more;
  }

  void update_times_to_beat() {
    if (built_.empty() || request_.exhaustive) return;
    const CheckedSpec& spec = request_.spec.checked();
    for (std::size_t i = 0; i < request_.asked.size(); ++i) {
      const Prediction now =
          rank_built(built_, spec, facts_, target_, {request_.asked[i].size}, request_.share_of_tiles);
      times_to_beat_[i] = times_to_beat(built_, now.ranked, spec, facts_, target_);
    }
  }

  /// Whether what is found for one of the sizes may depend on this plan.
  bool is_needed(const Plan& plan) const {
    for (std::size_t i = 0; i < request_.asked.size(); ++i) {
      const ProblemSize& size = request_.asked[i].size;
      if (plan == default_at(size) || is_worth_building(plan, times_to_beat_[i], request_.spec.checked(),
                                                        facts_, target_, size, request_.share_of_tiles))
        return true;
    }
    return false;
  }

  std::vector<Plan> plans_left() const {
    std::vector<Plan> left;
    std::ranges::copy_if(plans_, std::back_inserter(left),
                         [&](const Plan& plan) { return !is_built(plan) && is_needed(plan); });
    return left;
  }

  bool is_built(const Plan& plan) const {
    return std::ranges::find(outcome_.builds, plan.print(), &TunedBuild::plan) != outcome_.builds.end();
  }

  Plan default_at(const ProblemSize& size) const { return line_for(table_, size_of(size)).choice.plan; }

  void choose_best(const PredictRequest::Asked& asked, std::vector<BuiltPlan> built) {
    const auto of_default = std::ranges::find(built, default_at(asked.size), &BuiltPlan::plan);
    if (of_default == built.end()) return;  // stopped before it was built
    std::rotate(built.begin(), of_default, of_default + 1);
    const CheckedSpec& spec = request_.spec.checked();
    const Prediction found = rank_built(built, spec, facts_, target_, {asked.size}, request_.share_of_tiles);
    outcome_.dropped = found.dropped;
    TunedPlan best{.key = key_,
                   .label = kernel_label(spec, target_.name),
                   .problem = asked.problem,
                   .plan = built[found.best.of].plan.print(),
                   .ms = found.best.ms,
                   .gain = found.gain,
                   .default_plan = built.front().plan.print(),
                   .timed = static_cast<int>(built.size()),
                   .of = static_cast<int>(plans_.size()),
                   .finished = outcome_.builds.size() + outcome_.not_needed.size() == plans_.size(),
                   .date = static_cast<std::int64_t>(std::time(nullptr)),
                   .predicted = true,
                   .size = asked.size};
    for (const std::size_t of : worth_measuring(built, found.ranked, spec, facts_, target_))
      best.worth_timing.push_back(built[of].plan.print());
    if (const std::string problem = store_.keep({best}); !problem.empty()) outcome_.not_kept = problem;
    outcome_.found.push_back({.best = std::move(best), .why = found.why});
  }

  /// However short the time is, what calls get today is built: without it nothing can be predicted.
  bool may_begin(const Plan& plan) const {
    if (watch_.is_stopped && watch_.is_stopped()) return false;
    return is_default(plan) || elapsed() < request_.budget_seconds;
  }
  bool is_default(const Plan& plan) const {
    return std::ranges::any_of(
        request_.asked, [&](const PredictRequest::Asked& asked) { return plan == default_at(asked.size); });
  }
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void report() const {
    if (watch_.progress)
      watch_.progress(
          {.built = outcome_.builds.size(), .left = plans_left().size(), .now = now_, .elapsed = elapsed()});
  }

  const PredictRequest& request_;
  const Target& target_;
  const PlanStore& store_;
  const PredictWatch& watch_;
  const TuneKey key_;        // of the plan
  const TuneKey built_key_;  // of its figures
  const Facts facts_;
  const PlanTable table_;                   // without a tuner
  std::vector<Plan> plans_;                 // the default first
  std::vector<BuiltPlan> built_;            // of the builds those that did not fail
  std::vector<TimesToBeat> times_to_beat_;  // for each size that is asked about
  std::size_t now_ = 0;
  PredictOutcome outcome_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

PredictOutcome predict_plan(const PredictRequest& request, const Target& target, const PlanStore& store,
                            const PredictWatch& watch) {
  return Predictor(request, target, store, watch).run();
}

TunedBuild build_to_read(const Spec& spec, const Target& target, const Plan& plan, const TuneKey& key) {
  TunedBuild build{.key = key, .plan = plan.print(), .built = {}, .mix = {}, .failure = {}};
  try {
    const Compiled compiled = compile_front_end(spec.checked(), target, build.plan);
    const Pass& attention = compiled.source->program.back();
    const Built made = build_source(*compiled.source);
    const std::optional<CubinCode> code = find_code(made.cubin, attention.entry);
    if (!code) {
      build.failure = fmt::format("this NVRTC makes no cubin for {}", compiled.source->arch);
      return build;
    }
    const PtxasFigures figures = read_ptxas_report(made.log, attention.entry);
    build.mix = read_sass(*code);
    build.built = {.registers = figures.registers,
                   .shared_memory = attention.shared_memory + static_cast<int>(code->static_shared_memory),
                   .spill_bytes = figures.spill_bytes(),
                   .looped_spills = figures.spill_bytes() > 0 ? build.mix.looped(SassKind::local) : 0};
  } catch (const BuildError& error) {
    build.failure = error.what();
  } catch (const ArgumentError& error) {
    build.failure = error.what();  // the front end finds that this plan cannot be
  }
  return build;
}

}  // namespace fa
