#include "tools/tune/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/console/standard_streams.h"
#include "tools/console/text.h"

namespace fa::tools {

std::string print_gain(const TunedPlan& plan) {
  return plan.plan == plan.default_plan ? "the default" : fmt::format("{:.2f}x the default", plan.gain);
}

void print_outcome(const TuneOutcome& outcome, const std::string& ships) {
  const TunedPlan& best = outcome.best;
  std::string how = fmt::format("{} of {} plans timed in {}", best.timed, best.of,
                                print_milliseconds(outcome.seconds * 1e3));
  if (outcome.resumed > 0) how += fmt::format(", {} of them before", outcome.resumed);
  if (outcome.is_predicted) how += ", all that a prediction for this GPU named";
  if (outcome.failed > 0) how += fmt::format(", {} cannot run", outcome.failed);
  if (!best.finished) how += ", not to the end";
  fmt::print("{}  {}  {}\n  {}: {} ({})\n", best.label, best.problem, print_milliseconds(best.ms), best.plan,
             print_gain(best), how);
  print_ships(ships);
  flush_stdout();
}

void print_ships(const std::string& ships) {
  if (!ships.empty()) fmt::print("  ships: {}\n", ships);
}

nlohmann::json plan_json(const TunedPlan& plan) { return nlohmann::json::parse(encode(plan)); }

nlohmann::json outcome_json(const TuneOutcome& outcome) {
  nlohmann::json scores = nlohmann::json::array();
  for (const PlanScore& score : outcome.scores) {
    if (score.runs == 0 && !score.failed) continue;
    nlohmann::json line{{"plan", outcome.plans[score.candidate]}, {"runs", score.runs}};
    if (score.failed) {
      line["failed"] = true;
    } else {
      line["ms"] = score.seconds * 1e3;
      line["ratio"] = score.ratio;
    }
    scores.push_back(std::move(line));
  }
  nlohmann::json report = plan_json(outcome.best);
  report["seconds"] = outcome.seconds;
  report["resumed"] = outcome.resumed;
  report["failed"] = outcome.failed;
  report["not_kept"] = outcome.not_kept;
  report["timings"] = std::move(scores);
  return report;
}

}  // namespace fa::tools
