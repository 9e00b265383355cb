// Timing of one spec on one problem, under the chosen plan or under every legal one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/traffic.h"
#include "fa/options.h"
#include "tools/measure/timing.h"
#include "tools/plans/sweep.h"
#include "tools/problem/problem.h"
#include "tools/problem/session.h"

namespace fa::tools {

struct BenchSettings {
  Options options;
  Layout layout = Layout::bhsd;
  bool all_plans = false;
  std::optional<Sweep> sweep = {};  // or the plans of a sweep
  double time_ms = 300;             // of timed launches
  bool every_score = false;         // count scores that the mask drops, too
  bool verify = false;              // compare a sample of rows with the reference
  bool backward = false;            // time the backward pass, too
};

/// What the backward pass adds to a result.
struct BackwardResult {
  TimingSummary time, forward_backward;
  double flops = 0;                 // of the backward pass
  std::size_t workspace_bytes = 0;  // Kernel::backward_workspace_bytes
  std::size_t allocated_bytes = 0;  // for both passes: tensors, gradients, workspaces
};

/// Which point of a sweep a result is.
struct SweptValue {
  std::string field;
  int value = 0;
  bool is_chosen = false;  // the plan that the call takes without a sweep has it
};

struct BenchResult {
  std::string spec, file;
  DType dtype = DType::bf16;
  int head_dim = 0, head_dim_v = 0;
  ProblemSize size;
  std::string impl = "facet";  // whose kernel: Impl's name
  std::string device, target, plan;
  std::string plan_calls;  // which calls have this plan: KernelPlan::calls
  std::optional<SweptValue> swept;
  bool on_cuda = false;
  std::string error;  // why there is no result; the rest is then unset
  TimingSummary time;
  double flops = 0;
  std::string flops_counted;  // what `flops` counts (tools/measure/flops.h)
  double tflops = 0;
  double gb_per_s = 0;
  Traffic traffic;                   // of the plan, counted, with every tile of a mask
  std::int64_t bytes = 0;            // allocated for one copy and the captured tensors
  std::int64_t workspace_bytes = 0;  // of one call, beside them
  int copies = 1;
  double compile_ms = 0;
  std::optional<bool> verified;  // all that was asked for: gradients, too
  std::optional<BackwardResult> backward;
};

/// A result that says what is timed and no more.
BenchResult begin_result(const Spec& spec, const ProblemSize& size);

/// One result; with `all_plans` one for each legal plan, the fastest first, those that failed last; with `sweep` one for each
/// of its values, in its order.
struct BenchedProblem {
  std::vector<BenchResult> results;
  bool is_complete =
      true;  // false where a SIGINT (tools/console/interrupt.h) ended it; then there may be no results
};

/// A plan that cannot be built or run, or is none of the target's, becomes a result with `error`; bad input throws.
BenchedProblem bench(const Spec& spec, const ProblemInputs& inputs, const BenchSettings& settings);

}  // namespace fa::tools
