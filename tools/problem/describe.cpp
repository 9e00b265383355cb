// One-line and JSON descriptions.
#include "tools/problem/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <typeinfo>

#include "compiler/schedule/baseline/baseline.h"
#include "runtime/build/nvrtc.h"
#include "runtime/cuda/device.h"
#include "runtime/host/pool.h"
#include "tools/command/arguments.h"
#include "tools/console/text.h"
#include "tools/console/version.h"

namespace fa::tools {

namespace {

std::string_view source_name(CompileTimes::Source source) {
  switch (source) {
    case CompileTimes::Source::compiled:
      return "compiled";
    case CompileTimes::Source::disk:
      return "disk cache";
    case CompileTimes::Source::memory:
      return "memory cache";
  }
  return "";
}

/// The CPU's name from Linux.
std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::string print_scalar(const Scalar& value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

}  // namespace

std::string describe_spec(const Spec& spec) {
  std::string text = fmt::format("{}, head_dim {}", dtype_name(spec.dtype()), spec.head_dim());
  if (spec.head_dim_v() != spec.head_dim()) text += fmt::format(", head_dim_v {}", spec.head_dim_v());
  return text;
}

std::string describe_device(const Kernel& kernel, int cuda_device) {
  if (kernel.device() == Device::cuda) {
    return fmt::format("{}, as {}", CudaDevice::get(cuda_device).info().name, kernel.target());
  }
  const int cores = usable_cores();
  return fmt::format("host: {}, {} {}", cpu_name(), cores, cores == 1 ? "core" : "cores");
}

std::string describe_times(const CompileTimes& times) {
  const std::string driver =
      times.driver > 0 ? fmt::format(", the driver's start {}", print_milliseconds(times.driver)) : "";
  const std::string tuning =
      times.tune > 0 ? fmt::format("timing plans {}, ", print_milliseconds(times.tune)) : "";
  return fmt::format("{} ({}front end {}, build {}{}, load {}){}", print_milliseconds(times.total), tuning,
                     print_milliseconds(times.front_end), print_milliseconds(times.build), driver,
                     print_milliseconds(times.load),
                     times.source == CompileTimes::Source::compiled
                         ? std::string()
                         : fmt::format(", from the {}", source_name(times.source)));
}

std::string describe_cache(const CompileTimes& times) {
  if (!times.not_kept.empty()) return "not kept: " + times.not_kept;
  const bool is_usual =
      times.source != CompileTimes::Source::compiled || times.miss.empty() || times.miss == "no entry";
  return is_usual ? std::string() : "not used: " + times.miss;
}

std::string describe_size(const ProblemSize& size) {
  const std::string heads = size.num_q_heads == size.num_kv_heads
                                ? fmt::format("{}", size.num_q_heads)
                                : fmt::format("{} over {} kv heads", size.num_q_heads, size.num_kv_heads);
  return fmt::format("batch {}, heads {}, q_len {}, kv_len {}", size.batch, heads, size.q_len, size.kv_len);
}

std::string print_heads(const ProblemSize& size) {
  return size.num_q_heads == size.num_kv_heads ? fmt::format("H{}", size.num_q_heads)
                                               : fmt::format("H{}/{}", size.num_q_heads, size.num_kv_heads);
}

std::string print_lengths(const ProblemSize& size) {
  return size.q_len == size.kv_len ? fmt::format("N{}", size.q_len)
                                   : fmt::format("N{}x{}", size.q_len, size.kv_len);
}

std::string describe_problem(const Problem& problem) {
  std::string text = describe_size(problem.size);
  for (std::size_t i = 0; i < problem.params.size(); ++i) {
    text += fmt::format(", {} {}", problem.spec.params()[i].name, print_scalar(problem.params[i]));
  }
  if (problem.spec.has_dropout())
    text += fmt::format(", dropout {} (seed {})", problem.dropout, problem.dropout_seed);
  return text;
}

std::string print_rate(double flops, double milliseconds, bool on_cuda) {
  const double gflops = milliseconds > 0 ? flops / milliseconds * 1e-6 : 0;
  const double rate = on_cuda ? gflops / 1000 : gflops;
  // {:.4g} would print 12,345 as 1.234e+04.
  return fmt::format(fmt::runtime(rate < 9999.5 ? "{:.4g} {}" : "{:.0f} {}"), rate,
                     on_cuda ? "TFLOP/s" : "GFLOP/s");
}

std::string json_text(const nlohmann::json& report) {
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

nlohmann::json versions_json(bool cuda, int cuda_device) {
  nlohmann::json versions{{"facet", facet_version()}, {"commit", source_commit()}};
  if (cuda) {
    const int driver = CudaDevice::get(cuda_device).info().driver_version;  // 13000: CUDA 13.0
    versions["driver_cuda"] = fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
    versions["nvrtc"] = Nvrtc::get().version_text();
  }
  return versions;
}

nlohmann::json spec_json(const Spec& spec) {
  return {{"name", spec.name()},
          {"file", spec.checked().file},
          {"dtype", dtype_name(spec.dtype())},
          {"head_dim", spec.head_dim()},
          {"head_dim_v", spec.head_dim_v()}};
}

std::string describe_plan_of_call(const Kernel& kernel, const KernelPlan& used) {
  const std::size_t count = kernel.plans().size();
  return count == 1 ? used.plan : fmt::format("{}, for {}; {} plans", used.plan, used.calls, count);
}

nlohmann::json kernel_json(const Kernel& kernel, const KernelPlan& used) {
  const CompileTimes& times = kernel.times();
  return {{"device", kernel.device() == Device::cuda ? "cuda" : "host"},
          {"target", kernel.target()},
          {"plan", used.plan},
          {"plan_calls", used.calls},
          {"num_plans", kernel.plans().size()},
          {"compile_ms",
           {{"front_end", times.front_end},
            {"build", times.build},
            {"driver", times.driver},
            {"load", times.load},
            {"tune", times.tune},
            {"total", times.total},
            {"source", source_name(times.source)}}},
          {"cache", {{"miss", times.miss}, {"not_kept", times.not_kept}}},
          {"tuned", times.tuned}};
}

nlohmann::json size_json(const ProblemSize& size) {
  return {{"batch", size.batch},
          {"heads", size.num_q_heads},
          {"kv_heads", size.num_kv_heads},
          {"q_len", size.q_len},
          {"kv_len", size.kv_len}};
}

nlohmann::json problem_json(const Problem& problem) {
  nlohmann::json result = size_json(problem.size);
  nlohmann::json params = nlohmann::json::object();
  for (std::size_t i = 0; i < problem.params.size(); ++i) {
    std::visit([&](auto number) { params[problem.spec.params()[i].name] = number; }, problem.params[i]);
  }
  result["params"] = params;
  if (problem.spec.has_dropout()) {
    result["dropout"] = problem.dropout;
    result["dropout_seed"] = problem.dropout_seed;
  }
  return result;
}

nlohmann::json bytes_json(const Traffic& traffic) {
  nlohmann::json json{
      {"standard", traffic.standard_bytes}, {"standard_by_formula", traffic.standard_bytes_by_formula},
      {"fused", traffic.fused_bytes},       {"fused_by_formula", traffic.fused_bytes_by_formula},
      {"hbm", traffic.hbm_bytes},           {"least", traffic.least_bytes}};
  if (traffic.baseline_bytes > 0) json["baseline"] = traffic.baseline_bytes;
  return json;
}

nlohmann::json timing_json(const TimingSummary& time) {
  return {{"median", time.median},
          {"p10", time.p10},
          {"p90", time.p90},
          {"best", time.best},
          {"runs", time.runs}};
}

std::int64_t affordable_rows(const Spec& spec, const ProblemSize& size) {
  constexpr double kProducts = 3e9;   // multiply-adds of all rows together
  constexpr double kHookLanes = 1e8;  // elements whose hooks are interpreted
  const double by_products =
      kProducts / (static_cast<double>(size.kv_len) * (spec.head_dim() + spec.head_dim_v()));
  const double by_hooks = kHookLanes / size.kv_len;
  return std::max<std::int64_t>(64, static_cast<std::int64_t>(std::min(by_products, by_hooks)));
}

Kernel compile_with(const Spec& spec, const Options& options) {
  try {
    return compile(spec, options);
  } catch (const ArgumentError& error) {
    const std::string plan = plan_of_impl(options.impl, options.plan);
    if (plan.empty()) throw;
    throw ArgumentError(fmt::format("{}: {}", describe_plan(plan), error.what()));
  }
}

}  // namespace fa::tools
