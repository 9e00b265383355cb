// facet bench: how fast specs run here, over sizes and plans.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "compiler/schedule/baseline/baseline.h"
#include "runtime/build/device_target.h"
#include "runtime/system/options.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/failure.h"
#include "tools/command/json_option.h"
#include "tools/command/record_option.h"
#include "tools/command/validators.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/console/standard_streams.h"
#include "tools/console/text.h"
#include "tools/console/version.h"
#include "tools/measure/bench.h"
#include "tools/problem/describe.h"

namespace fa::tools {

namespace {

constexpr const char* kBenchFooter = R"(
Every spec is timed at every size, or plain attention where no spec is named: warm-up, then repeated launches for --time milliseconds, on so many copies of the
tensors in turn that the GPU's L2 cache holds none of them. Printed: the median, the spread from the 10th to the 90th
percentile, and TFLOP/s (GFLOP/s on the host) counting 2 B H Nq Nk (d + dv): the scores that the mask keeps, which are
counted by evaluating it on every row, or on a sample of rows where there are too many; with --every-score all of them.
GB/s counts q, k, v, o and lse once each; memory is what is allocated for one copy, for captured tensors and as the
call's workspace, at its peak; a forward pass itself allocates nothing.
--record writes batch_size, seq_len, num_heads, emb_dim, seconds and TFLOPs/s of each pass, and the peak of memory, under
the names that benchmarks of FlashAttention have for them (docs/baselines.md).
--impl facet,standard,flash1 times baselines beside Facet's own kernel, a line each: docs/baselines.md.
--backward counts two and a half times the FLOPs of the forward pass for the backward pass, as papers do.
--plans all times every legal plan of the target, fastest first; a plan that fails is reported, and the exit status is 1.
A problem that cannot be timed, because a tensor of its spec does not fit say, is reported, and the others are timed.

Examples:
  facet bench specs/*.fa
  facet bench specs/full.fa --batch 2 --heads 16 --q-len 2048,4096,8192,16384 --head-dim 128
  facet bench specs/causal.fa --every-score --json causal.json
  facet bench specs/causal.fa --q-len 1024,4096,16384 --impl facet,standard
  facet bench specs/full.fa --q-len 8192 --plans all --json plans.json
  facet bench --causal --batch-size 64 --num-heads 16 --emb-dim 1024 --seq-len 512,1024 --backward --record results/)";

struct BenchArguments {
  std::vector<std::string> specs;
  SpecArguments spec;
  SizeListArguments size;
  DeviceArguments device;
  InputArguments inputs;
  std::vector<std::string> impls = {"facet"};
  std::string plans = "chosen";
  std::string layout = "bhsd";
  double time_ms = 300;
  bool every_score = false;
  bool verify = false;
  bool causal = false;
  int emb_dim = 0;
  BackwardArguments backward;
  JsonOption json;
  RecordOption record;

  /// Plain attention, where no spec is named.
  std::optional<bool> is_causal() const { return specs.empty() ? std::optional(causal) : std::nullopt; }
};

void declare(CLI::App& command, BenchArguments& arguments) {
  command
      .add_option("SPEC", arguments.specs,
                  "Spec files (.fa), or - for standard input; without any, plain attention in bf16")
      ->type_name("FILE");
  command.add_flag("--causal", arguments.causal, "Without SPEC: with a causal mask");
  arguments.spec.declare(command);
  command.add_option("--emb-dim", arguments.emb_dim, "Heads times head_dim: another way to say --head-dim")
      ->type_name("N")
      ->check(positive())
      ->group("Spec");
  arguments.size.declare(command);
  arguments.inputs.declare(command);
  arguments.device.declare(command);
  command
      .add_option(
          "--impl", arguments.impls,
          "Time these side by side, of facet and the baselines, which run on a GPU: standard, flash1 [facet]")
      ->delimiter(',')
      ->allow_extra_args(false)  // or it would take the specs after it
      ->check(one_of(impl_names()))
      ->type_name("IMPL,...")
      ->group("Device");
  command
      .add_option("--plans", arguments.plans,
                  "chosen: the compiler's plan, or --plan; all: every legal one [chosen]")
      ->check(one_of({"chosen", "all"}))
      ->type_name("WHICH")
      ->group("Device");
  command.add_option("--layout", arguments.layout, "How q, k, v, o lie in memory: bhsd or bshd [bhsd]")
      ->check(one_of({"bhsd", "bshd"}))
      ->type_name("LAYOUT")
      ->group("Device");
  command.add_option("--time", arguments.time_ms, "Milliseconds of timed launches for each line [300]")
      ->type_name("MS")
      ->check(positive());
  command.add_flag("--every-score", arguments.every_score, "Count scores that the mask drops as well");
  command.add_flag("--verify", arguments.verify, "Also hold a sample of rows to the fp64 reference");
  arguments.backward.declare(command, "Time the backward pass, too, and both passes together");
  arguments.json.declare(command, "the results, with versions, device, date and command,");
  arguments.record.declare(command);
}

/// softmax(scale * q k^T) v, the last query beside the last key where it is causal.
Spec plain_attention(bool causal) {
  return Spec::parse(causal ? "attention causal\nhead_dim 128\ndtype bf16\n"
                              "mask_mod = q_idx + (kv_len - q_len) >= kv_idx\n"
                            : "attention full\nhead_dim 128\ndtype bf16\n");
}

/// The specs that are timed. Throws SpecError, and ArgumentError where options exclude each other.
std::vector<Spec> specs_of(const BenchArguments& arguments) {
  SpecArguments overrides = arguments.spec;
  if (arguments.emb_dim != 0) {
    const int heads = arguments.size.num_q_heads();
    if (overrides.head_dim != 0)
      throw ArgumentError("--emb-dim and --head-dim both say how wide a head is: give one of the two");
    if (arguments.emb_dim % heads != 0)
      throw ArgumentError(fmt::format("--emb-dim {} is no multiple of the {} heads: heads are of one width",
                                      arguments.emb_dim, heads));
    overrides.head_dim = arguments.emb_dim / heads;
  }
  if (arguments.specs.empty()) return {overrides.apply(plain_attention(arguments.causal))};
  if (arguments.causal)
    throw ArgumentError(
        "--causal is plain attention's mask, a spec has its own: leave out --causal, or SPEC");
  std::vector<Spec> specs;
  for (const auto& path : arguments.specs) specs.push_back(overrides.load(path));
  return specs;
}

void print_header() {
  fmt::print("{:<22} {:<34} {:>10} {:>19} {:>13} {:>8} {:>10}  {}\n", "spec", "problem", "median",
             "p10 .. p90", "rate", "GB/s", "memory", "FLOPs counted");
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
             fmt::format("{} .. {}", print_milliseconds(time.p10), print_milliseconds(time.p90)),
             print_rate(flops, time.median, on_cuda), "", rest);
}

void print_line(const BenchResult& result) {
  const std::string name =
      result.impl == "facet" ? result.spec : fmt::format("{}, {}", result.spec, result.impl);
  const auto& size = result.size;
  const std::string dims = result.head_dim == result.head_dim_v
                               ? fmt::format("D{}", result.head_dim)
                               : fmt::format("D{}/{}", result.head_dim, result.head_dim_v);
  const std::string problem = fmt::format("B{} {} {} {} {}", size.batch, print_heads(size),
                                          print_lengths(size), dims, dtype_name(result.dtype));
  if (!result.error.empty()) {
    fmt::print("{:<22} {:<34} {}\n", name, problem, result.error.substr(0, result.error.find('\n')));
    return;
  }
  fmt::print(
      "{:<22} {:<34} {:>10} {:>19} {:>13} {:>8.4g} {:>10}  {}{}\n", name, problem,
      print_milliseconds(result.time.median),
      fmt::format("{} .. {}", print_milliseconds(result.time.p10), print_milliseconds(result.time.p90)),
      rate_of(result), result.gb_per_s,
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

void print_lines(const std::vector<BenchResult>& lines, bool first, bool all_plans) {
  if (first) {
    if (!lines.front().device.empty()) fmt::print("{}\n", lines.front().device);
    print_header();
  }
  print_line(lines.front());
  if (all_plans) print_plans(lines);
  flush_stdout();
}

nlohmann::json to_json(const BenchResult& result) {
  nlohmann::json json{{"spec", result.spec},
                      {"impl", result.impl},
                      {"file", result.file},
                      {"dtype", dtype_name(result.dtype)},
                      {"head_dim", result.head_dim},
                      {"head_dim_v", result.head_dim_v},
                      {"size", size_json(result.size)},
                      {"target", result.target},
                      {"plan", result.plan}};
  if (!result.error.empty()) {
    json["error"] = result.error;
    return json;
  }
  json["plan_calls"] = result.plan_calls;
  json["time_ms"] = timing_json(result.time);
  json["tflops"] = result.tflops;
  json["flops"] = result.flops;
  json["flops_counted"] = result.flops_counted;
  json["gb_per_s"] = result.gb_per_s;
  json["bytes"] = result.bytes;
  json["workspace_bytes"] = result.workspace_bytes;
  json["copies"] = result.copies;
  json["compile_ms"] = result.compile_ms;
  if (result.verified) json["verified"] = *result.verified;
  if (const auto& backward = result.backward) {
    json["backward"] = {{"time_ms", timing_json(backward->time)},
                        {"flops", backward->flops},
                        {"tflops", backward->flops / backward->time.median * 1e-9},
                        {"workspace_bytes", backward->workspace_bytes}};
    json["forward_backward"] = {{"time_ms", timing_json(backward->forward_backward)}};
  }
  return json;
}

/// Says that the results hold `done` of `of` problems; the last of these may be incomplete where it has many
/// plans.
void write_json(const BenchArguments& arguments, const std::vector<BenchResult>& results, std::size_t done,
                std::size_t of) {
  nlohmann::json lines = nlohmann::json::array();
  for (const auto& result : results) lines.push_back(to_json(result));
  const bool on_cuda = !results.empty() && results.front().on_cuda;
  nlohmann::json report{{"command", command_line()},
                        {"date", timestamp()},
                        {"versions", versions_json(on_cuda, arguments.device.options().cuda_device)},
                        {"device", results.empty() ? "" : results.front().device},
                        {"layout", arguments.layout},
                        {"results", lines}};
  if (done < of) report["interrupted"] = {{"done", done}, {"of", of}};
  arguments.json.write(report);
}

struct Timed {
  std::vector<BenchResult> lines;
  bool is_complete = true;
  int failed = kOk;  // the status that it asks for
};

/// Reports a problem that cannot be timed, because a tensor of its spec does not fit, say. The others are timed
/// all the same.
Timed bench_or_report(const Spec& spec, const ProblemInputs& inputs, const BenchSettings& settings) {
  try {
    auto [lines, is_complete] = bench(spec, inputs, settings);
    return {.lines = std::move(lines), .is_complete = is_complete};
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    BenchResult line = begin_result(spec, inputs.size);
    line.impl = impl_name(settings.options.impl);
    line.error = error.what();
    return {.lines = {std::move(line)}, .failed = report_current_exception()};
  }
}

int run_bench(const BenchArguments& arguments) {
  if (arguments.plans == "all" && !arguments.device.plan.empty()) {
    throw ArgumentError("--plan names one plan and --plans all every one: give one of the two");
  }
  if (arguments.plans == "all" && !environment().plan.empty())
    throw ArgumentError(
        fmt::format("FA_PLAN='{}' names one plan and --plans all every one: unset it, or leave out --plans",
                    environment().plan));
  if (arguments.plans == "all" && arguments.impls != std::vector<std::string>{"facet"})
    throw ArgumentError(
        "--plans all times every plan of facet, baselines have none to choose from: leave out --impl");
  if (arguments.plans == "all" && arguments.record.asked())
    throw ArgumentError(
        "--record has a line for each problem, --plans all many plans: leave out one, or write --json");
  // Reads everything that the user wrote before it times anything, so that a typo in the last spec does not
  // cost minutes.
  arguments.json.check_apart_from(arguments.specs, "SPEC");
  arguments.record.check_apart_from(arguments.specs, "SPEC");
  arguments.record.check_apart_from({arguments.json.file()}, "--json");
  const std::vector<Spec> specs = specs_of(arguments);
  const auto problem_sizes = arguments.size.sizes();
  std::vector<BenchResult> planned;
  for (const Spec& spec : specs)
    for (const ProblemSize& size : problem_sizes)
      for (const std::string& impl : arguments.impls) {
        planned.push_back(begin_result(spec, size));
        planned.back().impl = impl;
      }
  arguments.json.prepare();
  arguments.record.prepare(planned);
  BenchSettings settings{.options = arguments.device.options(arguments.backward),
                         .layout = arguments.layout == "bshd" ? Layout::bshd : Layout::bhsd,
                         .all_plans = arguments.plans == "all",
                         .time_ms = arguments.time_ms,
                         .every_score = arguments.every_score,
                         .verify = arguments.verify,
                         .backward = arguments.backward.asked};

  if (settings.options.device == Device::cuda) {
    const std::string& reason = why_no_cuda(settings.options.cuda_device);
    if (!reason.empty()) throw DeviceError(reason, 0);
  }

  const Interruptible interruptible;
  std::vector<BenchResult> results;
  bool all_held = true;
  int status = kOk;  // of problems that could not be timed
  const std::size_t impls = arguments.impls.size();
  const std::size_t of = planned.size();
  std::size_t done = 0;
  Steps steps(of);
  for (std::size_t at = 0; at < of && !is_interrupted(); ++at) {
    const std::size_t problem = at / impls;
    const Spec& spec = specs[problem / problem_sizes.size()];
    const ProblemSize& size = problem_sizes[problem % problem_sizes.size()];
    settings.options.impl = impl_named(arguments.impls[at % impls]).value();
    steps.next(print_lengths(size));
    const auto [lines, is_complete, failed] =
        bench_or_report(spec, arguments.inputs.of(spec, specs.size(), size), settings);
    if (is_complete) ++done;
    status = std::max(status, failed);
    const ProgressHidden hidden;
    if (!lines.empty() && arguments.json.shows_text())
      print_lines(lines, results.empty(), settings.all_plans);
    for (const auto& line : lines) {
      all_held = all_held && line.error.empty() && line.verified.value_or(true);
    }
    results.insert(results.end(), lines.begin(), lines.end());
  }
  const ProgressHidden hidden;
  const bool writes = arguments.json.asked() && !results.empty();
  if (writes) write_json(arguments, results, done, of);
  if (arguments.record.asked() && !results.empty()) arguments.record.write(results, arguments.is_causal());
  if (done < of) {
    report_error(fmt::format(
        "interrupted: {} of {} problems are timed{}", done, of,
        writes && arguments.json.to_file() ? ", and written to " + arguments.json.file() : std::string()));
    return kInterrupted;
  }
  return status != kOk ? status : all_held ? kOk : kFailed;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* const command = app.add_subcommand("bench", "Time specs on this machine, over sizes and plans");
  command->footer(kBenchFooter);
  declare(*command, *arguments);
  command->callback([arguments, &action] { action = [arguments] { return run_bench(*arguments); }; });
}

}  // namespace fa::tools
