#include "tools/gradients/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/console/text.h"
#include "tools/problem/describe.h"

namespace fa::tools {
namespace {

constexpr double kProducts = 2.5;  // five, where the forward pass has two

std::string bound_text(const ErrorBound& bound) {
  return fmt::format("2^{:.0f} * ({:.0f} + {:.0f} max|logit|) * the sum of its terms' sizes",
                     std::log2(bound.epsilon), bound.constant, bound.per_logit);
}

}  // namespace

bool GradientReport::holds() const {
  return std::ranges::all_of(comparison, [](const ComparedGradient& gradient) { return gradient.holds(); });
}

GradientReport report_gradients(const Kernel& kernel, const Problem& problem, const GradientRun& run,
                                const std::function<void(const char*)>& on_step,
                                const OnProgress& on_progress) {
  GradientReport report;
  report.flops = run.forward_flops * kProducts;
  OutputGradientTensors outputs = random_output_gradients(problem, run.seed + 1000);
  std::optional<MeasuredGradients> reference;
  if (run.rows > 0) {
    on_step("computing the fp64 reference of the gradients");
    OutputGradients exact = widened(outputs);
    const std::vector<RowId> rows = sample_rows(problem.size, run.rows);
    keep_rows(problem.size, rows, exact);
    reference = measured_backward(problem, exact, on_progress);
    narrow(exact, outputs);
    report.rows = static_cast<std::int64_t>(rows.size()) - reference->doubtful_rows;
    report.doubtful_rows = reference->doubtful_rows;
    report.bound = gradient_bound(problem);
  }
  on_step("running the backward pass");
  report.gradients = run_backward(kernel, problem, outputs, run.layout, 1, run.cuda_device);
  const double first = report.gradients.backward_ms[0];
  const int runs = run.repeat > 0 ? run.repeat : runs_that_fit(run.time_ms, first, run.most_runs);
  report.gradients = run_backward(kernel, problem, outputs, run.layout, runs, run.cuda_device);
  report.time = summarise(report.gradients.backward_ms);
  std::vector<double> both = report.gradients.forward_ms;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += report.gradients.backward_ms[i];
  report.forward_backward = summarise(std::move(both));
  if (reference) report.comparison = compare_gradients(problem, *reference, report.gradients);
  return report;
}

void print_gradients(const GradientReport& report, const PrintLine& line, bool colour) {
  const double forward = summarise(report.gradients.forward_ms).median;
  line("backward",
       fmt::format("{}, median of {}; {}, {:.1f} times the forward pass",
                   print_milliseconds(report.time.median), report.time.runs,
                   print_rate(report.flops, report.time.median, false), report.time.median / forward));
  for (const HostTensor& gradient : report.gradients.tensors)
    line("", fmt::format("{} {} {}, checksum {:016x}", gradient.name, print_shape(gradient.shape),
                         dtype_name(gradient.dtype), checksum(gradient)));
  if (!report.bound) return;
  if (report.rows == 0) {
    line("verify", fmt::format("no gradient could be compared: all {} rows that were looked at are left out",
                               with_commas(report.doubtful_rows)));
    return;
  }
  const std::string verdict =
      report.holds() ? styled("ok", Style::green, colour) : styled("FAILED", Style::red, colour);
  line("verify", fmt::format("{}: gradients of {} rows against fp64", verdict, with_commas(report.rows)));
  if (report.doubtful_rows > 0)
    line("", fmt::format("{} rows left out, where correct targets may decide otherwise",
                         with_commas(report.doubtful_rows)));
  std::int64_t odd_elements = 0;
  for (const ComparedGradient& gradient : report.comparison) odd_elements += gradient.odd_elements;
  if (odd_elements > 0)
    line("",
         fmt::format("{} elements of gradients are NaN, and may be: their head's q, k or v hold a NaN or an "
                     "infinity; fill padding with zeros",
                     with_commas(odd_elements)));
  line("", fmt::format("bound {}", bound_text(*report.bound)));
  for (const ComparedGradient& gradient : report.comparison)
    line("", fmt::format("{}: max error {:.2e}; nearest to its bound, {:.0f}%: {}", gradient.name,
                         gradient.max_error, gradient.worst * 100, gradient.print_worst()));
}

nlohmann::json to_json(const GradientReport& report) {
  nlohmann::json gradients = nlohmann::json::array();
  for (const HostTensor& gradient : report.gradients.tensors)
    gradients.push_back({{"name", gradient.name}, {"checksum", fmt::format("{:016x}", checksum(gradient))}});
  nlohmann::json result{
      {"time_ms", {{"runs", report.time.runs}, {"median", report.time.median}, {"best", report.time.best}}},
      {"gradients", gradients}};
  if (!report.bound) return result;
  for (std::size_t i = 0; i < report.comparison.size(); ++i) {
    gradients[i]["odd_elements"] = report.comparison[i].odd_elements;
    gradients[i]["max_error"] = report.comparison[i].max_error;
    gradients[i]["worst_share_of_bound"] = report.comparison[i].worst;
    gradients[i]["worst"] = report.comparison[i].print_worst();
  }
  result["gradients"] = gradients;
  result["verify"] = {{"ok", report.holds()},
                      {"rows", report.rows},
                      {"doubtful_rows", report.doubtful_rows},
                      {"bound", bound_text(*report.bound)}};
  return result;
}

}  // namespace fa::tools
