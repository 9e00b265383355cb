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
#include "tools/measure/bench_report.h"
#include "tools/plans/sweep.h"
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
--sweep FIELD gives one field of the plan each of its legal values in turn, --sweep FIELD=32,64 those values: a line each, with
the bytes to and from memory as `facet explain` counts them, and a mark at what the call takes otherwise. The fields are tile_q,
tile_kv, warps, stages, q_in_registers, min_ctas and search_first, on the host tile_q and tile_kv. The rest of the plan is that of
--plan or the compiler's, and is completed as --plan's is where it cannot run with a value. A value that no plan can have is reported, the others are
timed, and the exit status is 1. With several specs, sizes or --impl there is a table for each; --record has a record for each value.
A problem that cannot be timed, because a tensor of its spec does not fit say, is reported, and the others are timed.

Examples:
  facet bench specs/*.fa
  facet bench specs/full.fa --batch 2 --heads 16 --q-len 2048,4096,8192,16384 --head-dim 128
  facet bench specs/causal.fa --every-score --json causal.json
  facet bench specs/causal.fa --q-len 1024,4096,16384 --impl facet,standard
  facet bench specs/full.fa --q-len 8192 --plans all --json plans.json
  facet bench specs/full.fa --q-len 4096 --impl facet,flash1 --sweep tile_kv=32,64,128 --record sweep/
  facet bench --causal --batch-size 64 --num-heads 16 --emb-dim 1024 --seq-len 512,1024 --backward --record results/)";

struct BenchArguments {
  std::vector<std::string> specs;
  SpecArguments spec;
  SizeListArguments size;
  DeviceArguments device;
  InputArguments inputs;
  std::vector<std::string> impls = {"facet"};
  std::string plans = "chosen", sweep;
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
      .add_option("--impl", arguments.impls,
                  "Time these side by side, of facet and the baselines: standard, flash1 [facet]")
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
  command
      .add_option(
          "--sweep", arguments.sweep,
          "Time a field of the plan (tile_q, tile_kv, warps, stages, ...) at every legal value, or at these")
      ->check(suggested(plan_fields()))
      ->type_name("FIELD[=N,...]")
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

/// Throws ArgumentError where --plans all stands beside what names other plans, or takes one line for each problem.
void check_plans(const BenchArguments& arguments) {
  if (arguments.plans != "all") return;
  if (!arguments.device.plan.empty())
    throw ArgumentError("--plan names one plan and --plans all every one: give one of the two");
  if (!arguments.sweep.empty())
    throw ArgumentError(
        "--sweep times the values of one field of a plan and --plans all every plan: give one of the two");
  if (!environment().plan.empty())
    throw ArgumentError(
        fmt::format("FA_PLAN='{}' names one plan and --plans all every one: unset it, or leave out --plans",
                    environment().plan));
  if (arguments.impls != std::vector<std::string>{"facet"})
    throw ArgumentError(
        "--plans all times every plan of facet, baselines have none to choose from: leave out --impl");
  if (arguments.record.asked())
    throw ArgumentError(
        "--record has a line for each problem, --plans all many plans: leave out one, or write --json");
}

/// What --sweep asks for. Throws ArgumentError where it is bad, or `forced`, the plan that is asked for, says what it sweeps.
std::optional<Sweep> sweep_of(const BenchArguments& arguments, const std::string& forced) {
  if (arguments.sweep.empty()) return {};
  Sweep sweep = parse_sweep(arguments.sweep);
  check_apart_from_plan(sweep, forced);
  return sweep;
}

int run_bench(const BenchArguments& arguments) {
  check_plans(arguments);
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
  BenchSettings settings{.options = arguments.device.options(arguments.backward),
                         .layout = arguments.layout == "bshd" ? Layout::bshd : Layout::bhsd,
                         .all_plans = arguments.plans == "all",
                         .time_ms = arguments.time_ms,
                         .every_score = arguments.every_score,
                         .verify = arguments.verify,
                         .backward = arguments.backward.asked};
  settings.sweep = sweep_of(arguments, settings.options.plan);

  if (settings.options.device == Device::cuda) {
    const std::string& reason = why_no_cuda(settings.options.cuda_device);
    if (!reason.empty()) throw DeviceError(reason, 0);
  }
  arguments.json.prepare();
  arguments.record.prepare(planned);

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
    if (!lines.empty() && arguments.json.shows_text()) {
      if (results.empty()) print_header(lines.front(), settings.sweep.has_value());
      print_problem(lines, settings.all_plans);
      flush_stdout();
    }
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
