// facet tune --gpu: plans for GPUs that are elsewhere, one spec and one GPU at a time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/tune/predict.h"
#include "tools/problem/problem.h"

namespace fa::tools {

struct PredictEffort {
  double budget_seconds = 0;  // no build begins after that
  bool exhaustive = false;    // builds those, too, that cannot change what is found
  int threads = 0;            // that build; 0: one for each core
};

/// Predicts a plan for each size and remembers it, and shows how far it is. `inputs`: the sizes, one at least, and
/// what masks read at them. Throws as predict_plan does.
PredictOutcome predict_and_show(const Spec& spec, const std::vector<ProblemInputs>& inputs,
                                const Target& target, const PlanStore& store, const PredictEffort& effort);

void print_prediction(const PredictOutcome& outcome, const std::string& label);
/// One report a size.
std::vector<nlohmann::json> prediction_json(const PredictOutcome& outcome, const std::string& label);

}  // namespace fa::tools
