// Finds the fastest plan of a spec by timing, and remembers it: the search (compiler/tune) over kernels that are
// compiled and run, its measurements kept in the plan store one by one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/schedule/plan.h"
#include "compiler/tune/candidates.h"
#include "compiler/tune/search.h"
#include "fa/kernel.h"
#include "runtime/tune/plan_store.h"

namespace fa {

/// Times kernels on one problem, wherever its tensors are.
class KernelTimer {
 public:
  virtual ~KernelTimer() = default;
  /// Seconds of a run, of `runs` runs. Nothing where it was stopped meanwhile. Throws DeviceError.
  virtual std::optional<double> seconds(const Kernel& kernel, int runs) = 0;
};

struct TuneRequest {
  Spec spec;
  Options options;      // how kernels are compiled; the device is cuda or host, `plan` is ignored
  ProblemSize size;     // what the cost model is asked about
  std::string problem;  // what is timed, in words: measurements are kept under it
  SearchSettings search;
  ShareOfTiles share_of_tiles = {};  // of `size` and its tensors, which order the candidates; may be empty
  // The plan is kept for calls of about `size`, of which alone it was timed; else for all.
  bool is_for_size = false;
  // Compile kernels ahead of the timing. 0 where what is timed needs the CPU's cores itself.
  int builders = 0;
};

/// How far it is, after each candidate.
struct TuneProgress {
  std::size_t timed = 0, of = 0;
  std::string leader;  // a plan
  double gain = 1;
  double elapsed = 0;  // seconds
};

struct TuneWatch {
  std::function<void(const TuneProgress&)> progress;
  std::function<bool()> is_stopped;  // may be empty
};

struct TuneOutcome {
  TunedPlan best;
  std::size_t failed = 0;     // plans that could not be built or run
  std::size_t resumed = 0;    // plans whose measurements an earlier search had left
  bool is_predicted = false;  // only plans were timed that a prediction for this GPU named
  double seconds = 0;         // that this took
  std::string not_kept;       // why the store could not keep the plan or its measurements, or empty
  std::vector<PlanScore> scores;
  std::vector<std::string> plans;  // the candidates, as PlanScore counts them
};

/// Throws what `compile` throws where not even the default plan can be built; BuildError where no plan runs.
TuneOutcome tune(const TuneRequest& request, const Target& target, const PlanStore& store, KernelTimer& timer,
                 const TuneWatch& watch = {});

/// "causal bf16 d128 host"
std::string kernel_label(const CheckedSpec& spec, std::string_view target);
std::string kernel_label(std::string_view spec, DType dtype, int head_dim, int head_dim_v,
                         std::string_view target);

}  // namespace fa
