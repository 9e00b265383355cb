// Specs, kernels, problems and timings, described in one line for people and as JSON for scripts.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/schedule/traffic.h"
#include "fa/kernel.h"
#include "fa/options.h"
#include "tools/measure/timing.h"
#include "tools/problem/problem.h"

namespace fa::tools {

std::string describe_spec(const Spec& spec);                         // "bf16, head_dim 128"
std::string describe_device(const Kernel& kernel, int cuda_device);  // "NVIDIA H200, as h200"
/// Problems with the disk cache: an entry that could not be used, a kernel that could not be kept.
std::string describe_cache(const CompileTimes& times);
std::string describe_times(const CompileTimes& times);  // "41 ms (front end 4.1, build 36, load 1.1)"
std::string describe_size(const ProblemSize& size);
std::string print_heads(const ProblemSize& size);      // "H8", or "H8/2" where kv heads are fewer
std::string print_lengths(const ProblemSize& size);    // "N4096", or "N1x4096" where q_len and kv_len differ
std::string describe_problem(const Problem& problem);  // size, params, dropout
/// "83.6 GFLOP/s" on the host, "312 TFLOP/s" on a GPU
std::string print_rate(double flops, double milliseconds, bool on_cuda);

/// The printed form of a report. Bytes that are not UTF-8, which a file's name may have, become U+FFFD.
std::string json_text(const nlohmann::json& report);
/// Facet's version and commit; with `cuda` also NVRTC's and the driver's.
nlohmann::json versions_json(bool cuda, int cuda_device);
nlohmann::json spec_json(const Spec& spec);
/// The plan that a call runs, and which calls do where not all of the kernel's have it.
std::string describe_plan_of_call(const Kernel& kernel, const KernelPlan& used);
nlohmann::json kernel_json(const Kernel& kernel, const KernelPlan& used);
nlohmann::json size_json(const ProblemSize& size);
nlohmann::json problem_json(const Problem& problem);
/// The bytes of one forward pass as they are counted: Traffic's, by name.
nlohmann::json bytes_json(const Traffic& traffic);
nlohmann::json timing_json(const TimingSummary& time);

/// Rows that the reference computes within a few seconds on two cores.
std::int64_t affordable_rows(const Spec& spec, const ProblemSize& size);

/// fa::compile, with a forced plan's mistakes as ArgumentError: they are bad input.
Kernel compile_with(const Spec& spec, const Options& options);

}  // namespace fa::tools
