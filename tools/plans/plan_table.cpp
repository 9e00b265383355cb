#include "tools/plans/plan_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "compiler/schedule/cost.h"
#include "tools/console/text.h"
#include "tools/problem/describe.h"

namespace fa::tools {

std::vector<ShownPlan> show_table(const PlanTable& table, const CheckedSpec& spec, const Facts& facts,
                                  const Target& target) {
  std::vector<ShownPlan> shown;
  for (const PlanOfBucket& line : table) {
    ShownPlan one{.calls = describe_bucket(line.bucket, table.size()),
                  .plan = line.choice.plan.print(),
                  .why = line.choice.why,
                  .shape = describe_size(line.shape)};
    if (!target.is_host()) {
      const auto predicted = [&](const PlanOfBucket& of) {
        return predict(of.choice.plan, spec, facts, target, line.shape).ms;
      };
      one.predicted_ms = predicted(line);
      one.single_ms = predicted(table.back());
    }
    shown.push_back(std::move(one));
  }
  return shown;
}

std::vector<std::string> print_table(const std::vector<ShownPlan>& table) {
  std::vector<std::string> lines{
      fmt::format("a CTA of work: {} queries of a head and batch entry. Times are the model's, with the "
                  "tiles that a relative mask leaves, else all",
                  kRowsOfCta)};
  for (const ShownPlan& one : table) {
    lines.push_back(fmt::format("{}: {}", one.calls, one.plan));
    lines.push_back("  why: " + one.why);
    std::string times = fmt::format("  {}: {}", one.shape, print_milliseconds(one.predicted_ms));
    if (one.plan != table.back().plan)
      times += fmt::format(", with the plan for all other calls {} ({:.2f}x)",
                           print_milliseconds(one.single_ms), one.single_ms / one.predicted_ms);
    lines.push_back(std::move(times));
  }
  return lines;
}

nlohmann::json table_json(const std::vector<ShownPlan>& table) {
  nlohmann::json lines = nlohmann::json::array();
  for (const ShownPlan& one : table) {
    nlohmann::json line = {{"calls", one.calls}, {"plan", one.plan}, {"why", one.why}};
    if (one.predicted_ms > 0) {  // not of the host, whose model counts cycles
      line["shape"] = one.shape;
      line["predicted_ms"] = one.predicted_ms;
      line["single_ms"] = one.single_ms;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace fa::tools
