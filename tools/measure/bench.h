// Timing of one spec on one problem, under the chosen plan or under every legal one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa/options.h"
#include "tools/measure/timing.h"
#include "tools/problem/problem.h"
#include "tools/problem/session.h"

namespace fa::tools {

struct BenchSettings {
  Options options;
  Layout layout = Layout::bhsd;
  bool all_plans = false;
  double time_ms = 300;      // of timed launches
  bool every_score = false;  // count scores that the mask drops, too
  bool verify = false;       // compare a sample of rows with the reference
  bool backward = false;     // time the backward pass, too
};

/// What the backward pass adds to a result.
struct BackwardResult {
  TimingSummary time, forward_backward;
  double flops = 0;                 // of the backward pass
  std::size_t workspace_bytes = 0;  // Kernel::backward_workspace_bytes
  std::size_t allocated_bytes = 0;  // for both passes: tensors, gradients, workspaces
};

struct BenchResult {
  std::string spec, file;
  DType dtype = DType::bf16;
  int head_dim = 0, head_dim_v = 0;
  ProblemSize size;
  std::string impl = "facet";  // whose kernel: Impl's name
  std::string device, target, plan;
  std::string plan_calls;  // which calls have this plan: KernelPlan::calls
  bool on_cuda = false;
  std::string error;  // why there is no result; the rest is then unset
  TimingSummary time;
  double flops = 0;
  std::string flops_counted;  // what `flops` counts (tools/measure/flops.h)
  double tflops = 0;
  double gb_per_s = 0;
  std::int64_t bytes = 0;            // allocated for one copy and the captured tensors
  std::int64_t workspace_bytes = 0;  // of one call, beside them
  int copies = 1;
  double compile_ms = 0;
  std::optional<bool> verified;  // all that was asked for: gradients, too
  std::optional<BackwardResult> backward;
};

/// A result that says what is timed and no more.
BenchResult begin_result(const Spec& spec, const ProblemSize& size);

/// One result; with `all_plans` one for each legal plan, the fastest first, those that failed last.
struct BenchedProblem {
  std::vector<BenchResult> results;
  bool is_complete =
      true;  // false where a SIGINT (tools/console/interrupt.h) ended it; then there may be no results
};

/// A plan that cannot be built or run becomes a result with `error`; bad input throws.
BenchedProblem bench(const Spec& spec, const ProblemInputs& inputs, const BenchSettings& settings);

}  // namespace fa::tools
