#include "tools/tune/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/host/pool.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/standard_streams.h"
#include "tools/console/text.h"
#include "tools/tune/report.h"
#include "tools/tune/session_timer.h"
#include "tools/tune/shares.h"

namespace fa::tools {
namespace {

/// "256 mma, 96 ffma": what the loops of a kernel consist of.
std::string print_mix(const SassMix& mix) {
  std::string text;
  for (std::size_t kind = 0; kind < kNumSassKinds; ++kind) {
    if (mix.in_loops[kind] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", mix.in_loops[kind], sass_kind_name(static_cast<SassKind>(kind)));
  }
  return text;
}

/// Each reason why plans could not be built, with one of them and how many others there are.
std::vector<std::string> describe_failures(const std::vector<TunedBuild>& builds) {
  std::map<std::string, std::vector<std::string>> plans;  // by reason
  for (const TunedBuild& build : builds)
    if (!build.failure.empty()) plans[build.failure].push_back(build.plan);
  std::vector<std::string> lines;
  for (const auto& [reason, of] : plans)
    lines.push_back(fmt::format("not built: {}{}: {}", of.front(),
                                of.size() == 1 ? "" : fmt::format(" and {} more", of.size() - 1), reason));
  return lines;
}

std::size_t num_failed(const PredictOutcome& outcome) {
  return static_cast<std::size_t>(
      std::ranges::count_if(outcome.builds, [](const TunedBuild& build) { return !build.failure.empty(); }));
}

void print_built(std::string_view title, const PredictOutcome& outcome, const std::string& plan) {
  const auto build = std::ranges::find(outcome.builds, plan, &TunedBuild::plan);
  if (build == outcome.builds.end()) return;
  const AsBuilt& built = build->built;
  fmt::print("  {}: {} registers, {} of shared memory, {} bytes spilled; in its loops {}\n", title,
             built.registers, print_bytes(built.shared_memory), built.spill_bytes, print_mix(build->mix));
}

}  // namespace

PredictOutcome predict_and_show(const Spec& spec, const std::vector<ProblemInputs>& inputs,
                                const Target& target, const PlanStore& store, const PredictEffort& effort) {
  Progress progress(fmt::format("{} for {}: planning", spec.name(), target.name));
  Shares shares(spec, inputs);
  PredictRequest request{
      .spec = spec,
      .asked = {},
      .share_of_tiles = [&](const Plan& plan, const ProblemSize& size) { return shares.of(plan, size); },
      .budget_seconds = effort.budget_seconds,
      .exhaustive = effort.exhaustive,
      .threads = effort.threads > 0 ? effort.threads : usable_cores()};
  for (const ProblemInputs& input : inputs)
    request.asked.push_back({.size = input.size, .problem = describe_timed(spec, {input})});
  const auto show = [&](const PredictProgress& at) {
    std::string text =
        fmt::format("{} for {}: {} built, {} left at most", spec.name(), target.name, at.built, at.left);
    if (at.left == 0) text = fmt::format("{} for {}: ranking {} plans", spec.name(), target.name, at.built);
    if (at.now > 0 && at.left > 0)
      text += fmt::format(", {:.0f} s",
                          std::ceil(at.elapsed / static_cast<double>(at.now) * static_cast<double>(at.left)));
    progress.show(std::move(text), static_cast<double>(at.built) / static_cast<double>(at.built + at.left));
  };
  return predict_plan(request, target, store, {.progress = show, .is_stopped = is_interrupted});
}

void print_prediction(const PredictOutcome& outcome, const std::string& label) {
  const std::size_t failed = num_failed(outcome);
  std::string how = fmt::format("{} of {} plans built in {}", outcome.builds.size() - failed, outcome.of,
                                print_milliseconds(outcome.seconds * 1e3));
  if (outcome.resumed > 0) how += fmt::format(", {} of them before", outcome.resumed);
  if (outcome.dropped > 0) how += fmt::format(", {} spill in their loops", outcome.dropped);
  if (failed > 0) how += fmt::format(", {} cannot be built", failed);
  if (!outcome.not_needed.empty())
    how += fmt::format(", {} more could not be among the best", outcome.not_needed.size());
  if (outcome.found.empty())
    fmt::print("{}  stopped before the compiler's own choice was built ({})\n", label, how);
  for (const auto& [best, why] : outcome.found) {
    fmt::print("{}  {}  predicted {}\n  {}: {} ({}{})\n  why: {}\n", label, best.problem,
               print_milliseconds(best.ms), best.plan, print_gain(best), how,
               best.finished ? "" : ", not to the end", why);
    print_built("as built", outcome, best.plan);
    if (best.plan != best.default_plan) {
      fmt::print("  the default is {}\n", best.default_plan);
      print_built("as built", outcome, best.default_plan);
    }
  }
  for (const std::string& line : describe_failures(outcome.builds)) fmt::print("  {}\n", line);
  flush_stdout();
}

std::vector<nlohmann::json> prediction_json(const PredictOutcome& outcome, const std::string& label) {
  nlohmann::json builds = nlohmann::json::array();
  for (const TunedBuild& build : outcome.builds) {
    nlohmann::json line = nlohmann::json::parse(encode(build));
    for (const char* key : {"format", "spec", "code", "device", "compiler"})
      line.erase(key);  // of the plan, too
    builds.push_back(std::move(line));
  }
  nlohmann::json not_needed = nlohmann::json::array();
  for (const Plan& plan : outcome.not_needed) not_needed.push_back(plan.print());
  std::vector<nlohmann::json> reports;
  for (const auto& [best, why] : outcome.found) {
    reports.push_back(plan_json(best));
    reports.back()["why"] = why;
  }
  if (reports.empty()) reports.push_back({{"label", label}, {"why", ""}});
  for (nlohmann::json& report : reports) {
    report["seconds"] = outcome.seconds;
    report["resumed"] = outcome.resumed;
    report["spilling"] = outcome.dropped;
    report["failed"] = num_failed(outcome);
    report["not_kept"] = outcome.not_kept;
    report["builds"] = builds;
    report["not_needed"] = not_needed;
  }
  return reports;
}

}  // namespace fa::tools
