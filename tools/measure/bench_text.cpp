// Results of `facet bench` as text on stdout.
#include <fmt/format.h>

#include <algorithm>

#include "tools/console/text.h"
#include "tools/measure/bench_report.h"
#include "tools/problem/describe.h"

namespace fa::tools {

namespace {

std::string spread(const TimingSummary& time) {
  return fmt::format("{} .. {}", print_milliseconds(time.p10), print_milliseconds(time.p90));
}

std::string rate_of(const BenchResult& result) {
  return print_rate(result.flops, result.time.median, result.on_cuda);
}

std::string_view verdict(const BenchResult& result) {
  if (!result.verified) return "";
  return *result.verified ? ", verified" : ", WRONG";
}

/// A line below that of the forward pass, in its columns.
void print_pass(std::string_view name, const TimingSummary& time, double flops, bool on_cuda,
                const std::string& rest) {
  fmt::print("{:<22} {:<34} {:>10} {:>19} {:>13} {:>19}  {}\n", "", name, print_milliseconds(time.median),
             spread(time), print_rate(flops, time.median, on_cuda), "", rest);
}

std::string name_of(const BenchResult& result) {
  return result.impl == "facet" ? result.spec : fmt::format("{}, {}", result.spec, result.impl);
}

std::string problem_of(const BenchResult& result) {
  const auto& size = result.size;
  const std::string dims = result.head_dim == result.head_dim_v
                               ? fmt::format("D{}", result.head_dim)
                               : fmt::format("D{}/{}", result.head_dim, result.head_dim_v);
  return fmt::format("B{} {} {} {} {}", size.batch, print_heads(size), print_lengths(size), dims,
                     dtype_name(result.dtype));
}

void print_line(const BenchResult& result) {
  const std::string name = name_of(result), problem = problem_of(result);
  if (!result.error.empty()) {
    fmt::print("{:<22} {:<34} {}\n", name, problem, result.error.substr(0, result.error.find('\n')));
    return;
  }
  fmt::print("{:<22} {:<34} {:>10} {:>19} {:>13} {:>8.4g} {:>10}  {}{}\n", name, problem,
             print_milliseconds(result.time.median), spread(result.time), rate_of(result), result.gb_per_s,
             print_bytes(static_cast<double>(result.bytes + result.workspace_bytes)), result.flops_counted,
             verdict(result));
  if (!result.backward) return;
  const BackwardResult& backward = *result.backward;
  print_pass("backward", backward.time, backward.flops, result.on_cuda,
             fmt::format("workspace {}", print_bytes(static_cast<double>(backward.workspace_bytes))));
  print_pass("forward and backward", backward.forward_backward, result.flops + backward.flops, result.on_cuda,
             "");
}

void print_plans(const std::vector<BenchResult>& results) {
  for (const auto& result : results) {
    if (result.error.empty()) {
      fmt::print("  {:>10} {:>13}  {}{}\n", print_milliseconds(result.time.median), rate_of(result),
                 result.plan, verdict(result));
    } else {
      fmt::print("  {:>10} {:>13}  {}: {}\n", "failed", "", result.plan, result.error);
    }
  }
}

/// GB to and from memory by count.
std::string gigabytes(const BenchResult& result) {
  const Traffic& traffic = result.traffic;
  return fmt::format("{:.4g}",
                     (traffic.baseline_bytes > 0 ? traffic.baseline_bytes : traffic.hbm_bytes) / 1e9);
}

/// A line of a sweep below that of the forward pass.
void print_swept_pass(std::string_view name, const TimingSummary& time, double flops, bool on_cuda) {
  fmt::print("    {:>14} {:>10} {:>19} {:>13}\n", name, print_milliseconds(time.median), spread(time),
             print_rate(flops, time.median, on_cuda));
}

void print_point(const BenchResult& result) {
  const SweptValue& swept = result.swept.value();
  const char mark = swept.is_chosen ? '*' : ' ';
  if (!result.error.empty()) {
    fmt::print("  {} {:>14} {:>10}  {}\n", mark, swept.value, "failed",
               result.error.substr(0, result.error.find('\n')));
    return;
  }
  fmt::print("  {} {:>14} {:>10} {:>19} {:>13} {:>11}  {}{}\n", mark, swept.value,
             print_milliseconds(result.time.median), spread(result.time), rate_of(result), gigabytes(result),
             result.plan, verdict(result));
  if (!result.backward) return;
  const BackwardResult& backward = *result.backward;
  print_swept_pass("backward", backward.time, backward.flops, result.on_cuda);
  print_swept_pass("both", backward.forward_backward, result.flops + backward.flops, result.on_cuda);
}

void print_sweep(const std::vector<BenchResult>& points) {
  const BenchResult& first = points.front();
  fmt::print("{}, {}; FLOPs of {}\n", name_of(first), problem_of(first), first.flops_counted);
  fmt::print("    {:>14} {:>10} {:>19} {:>13} {:>11}  {}\n", first.swept->field, "median", "p10 .. p90",
             "rate", "GB counted", "plan");
  for (const BenchResult& point : points) print_point(point);
}

}  // namespace

void print_header(const BenchResult& first, bool is_sweep) {
  if (!first.device.empty()) fmt::print("{}\n", first.device);
  if (is_sweep) {
    fmt::print("* what the call takes without --sweep; GB to and from memory are counted, not measured\n");
    return;
  }
  fmt::print("{:<22} {:<34} {:>10} {:>19} {:>13} {:>8} {:>10}  {}\n", "spec", "problem", "median",
             "p10 .. p90", "rate", "GB/s", "memory", "FLOPs counted");
}

void print_problem(const std::vector<BenchResult>& results, bool all_plans) {
  if (results.front().swept) {
    print_sweep(results);
    return;
  }
  print_line(results.front());
  if (all_plans) print_plans(results);
}

}  // namespace fa::tools
