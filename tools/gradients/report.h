// What `facet run --backward` and `facet bench --backward` do after the forward pass: the backward pass timed and,
// where asked, compared with the fp64 reference.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fa/kernel.h"
#include "tools/measure/timing.h"
#include "tools/problem/gradients.h"
#include "tools/reference/gradients/comparison.h"
#include "tools/reference/reference.h"

namespace fa::tools {

struct GradientReport {
  TimingSummary time;  // of the backward pass
  TimingSummary forward_backward;
  KernelGradients gradients;
  double flops = 0;
  // Where it was compared. Rows that were not looked at got a gradient of 0.
  std::vector<ComparedGradient> comparison;
  std::int64_t rows = 0, doubtful_rows = 0;
  std::optional<ErrorBound> bound;

  bool holds() const;
};

/// How a run of it goes.
struct GradientRun {
  Layout layout = Layout::bhsd;
  std::uint64_t seed = 1;
  int repeat = 0;  // timed runs; 0: as many as fit time_ms, 3 to most_runs
  double time_ms = 500;
  int most_runs = 20;
  std::int64_t rows = 0;     // to compare; 0: none are
  double forward_flops = 0;  // of the problem
  int cuda_device = 0;       // of a kernel for a GPU
};

GradientReport report_gradients(const Kernel& kernel, const Problem& problem, const GradientRun& run,
                                const std::function<void(const char*)>& on_step,
                                const OnProgress& on_progress);

/// `line` prints a label and a text.
using PrintLine = std::function<void(std::string_view label, const std::string& text)>;
void print_gradients(const GradientReport& report, const PrintLine& line, bool colour);

nlohmann::json to_json(const GradientReport& report);

}  // namespace fa::tools
