// Finds a plan for a GPU that need not be here, and remembers it as predicted: NVRTC builds the plans that could be
// among the best, and the cost model compares them by what they really take (compiler/tune/predict).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/tune/predict.h"
#include "fa/spec.h"
#include "runtime/tune/plan_store.h"

namespace fa {

struct PredictRequest {
  Spec spec;
  struct Asked {
    ProblemSize size;
    std::string problem;  // the same in words
  };
  std::vector<Asked> asked;  // what the model is asked about; at least one. Each gets a plan of its own
  ShareOfTiles share_of_tiles;
  double budget_seconds = 0;  // after it nothing is begun but what calls get today
  bool exhaustive = false;    // builds those, too, that cannot change what is found
  int threads = 1;            // that build
};

/// How far it is, after each build.
struct PredictProgress {
  std::size_t built = 0, left = 0;
  std::size_t now = 0;  // those of `built` that this run made, and not one before it
  double elapsed = 0;   // seconds
};

struct PredictWatch {
  std::function<void(const PredictProgress&)> progress;
  std::function<bool()> is_stopped;  // may be empty
};

struct PredictOutcome {
  struct Found {
    TunedPlan best;
    std::string why;  // Prediction::why
  };
  std::vector<Found> found;  // for each size; none where it was stopped before the default was built
  std::size_t dropped = 0;   // plans that spill at the price of their time
  std::size_t resumed = 0;   // builds that an earlier run had left
  std::size_t of = 0;        // plans
  std::vector<Plan>
      not_needed;  // those that could not be worth measuring, whatever ptxas made of them: not built
  double seconds = 0;
  std::string not_kept;            // why the store could not keep the plan or a build, or empty
  std::vector<TunedBuild> builds;  // the default first, else as they were built; those that failed, too
};

/// Throws SpecError where the target cannot run the spec, BuildError where there is no NVRTC or it cannot build
/// the default plan.
PredictOutcome predict_plan(const PredictRequest& request, const Target& target, const PlanStore& store,
                            const PredictWatch& watch = {});

/// Builds one plan and reads what it takes. What NVRTC refuses is said in `failure`.
TunedBuild build_to_read(const Spec& spec, const Target& target, const Plan& plan, const TuneKey& key);

}  // namespace fa
