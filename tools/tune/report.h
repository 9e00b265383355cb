// What the tuner found, for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/tune/tune.h"

namespace fa::tools {

/// "1.08x" where a plan is faster than the default by more than rounding, else "the default"
std::string print_gain(const TunedPlan& plan);
/// `ships`: what became of it in a table that ships, or empty.
void print_outcome(const TuneOutcome& outcome, const std::string& ships);
void print_ships(const std::string& ships);
nlohmann::json plan_json(const TunedPlan& plan);
nlohmann::json outcome_json(const TuneOutcome& outcome);

}  // namespace fa::tools
