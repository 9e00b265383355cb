// A kernel's plans by the calls that they are for, as `explain` and `emit` show them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace fa::tools {

/// A line of a PlanTable, with times by the model.
struct ShownPlan {
  std::string calls;  // "up to 54 CTAs of work"
  std::string plan, why;
  std::string shape;        // that the times are for: "batch 1, heads 16, ..."
  double predicted_ms = 0;  // 0 on the host, whose model counts cycles
  double single_ms = 0;     // with the plan for all other calls
};

std::vector<ShownPlan> show_table(const PlanTable& table, const CheckedSpec& spec, const Facts& facts,
                                  const Target& target);

/// Lines of text for a table of several plans, what CTAs of work are first.
std::vector<std::string> print_table(const std::vector<ShownPlan>& table);
nlohmann::json table_json(const std::vector<ShownPlan>& table);

}  // namespace fa::tools
