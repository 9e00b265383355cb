// facet run: computes one spec on one problem, times it, prints the result, and verifies it where asked.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/system/output.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/sizes_of_file.h"
#include "tools/command/spec_file.h"
#include "tools/command/validators.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/console/text.h"
#include "tools/gradients/report.h"
#include "tools/measure/flops.h"
#include "tools/measure/timing.h"
#include "tools/problem/describe.h"
#include "tools/problem/npy.h"
#include "tools/problem/session.h"
#include "tools/reference/error_bound.h"

namespace fa::tools {

namespace {

constexpr const char* kRunFooter = R"(
Tensors that are not given are generated: q, k, v and others from --seed, tensors with an example from the example.
The problem's size is that of the given q, k and v; what they leave open is batch 1, 4 heads, length 512.
.npy files: float16, float32, int32, int8 and bool as NumPy writes them. bf16 is written as float32, and float32
files are rounded where the spec's dtype is bf16 or f16.
--verify compares with an fp64 reference written independently of the compiler, and fails (exit 1) where the error
exceeds the bound of docs/numerics.md. A read outside its tensor, which kernels clamp in silence, ends --checked with
the index and the first element that reads it.

Examples:
  facet run specs/sliding_window_alibi.fa --verify
  facet run specs/sliding_window_alibi.fa --q-len 4096 --set window=256 --device host
  facet run specs/causal.fa --heads 32 --kv-heads 8 --head-dim 64 --dtype f16
  facet run specs/block_sparse.fa --q q.npy --k k.npy --v v.npy --tensor layout=layout.npy --out o.npy --lse lse.npy)";

struct RunArguments {
  std::string spec_path;
  SpecArguments spec;
  SizeArguments size;
  DeviceArguments device;
  std::vector<std::string> params, tensors;
  std::string q, k, v, out, lse;
  std::optional<float> dropout;
  std::uint64_t seed = 1;
  std::string layout = "bhsd";
  int repeat = 0;
  bool verify = false, checked = false;
  BackwardArguments backward;
  std::int64_t verify_rows = 0;
  JsonOption json;
};

void declare(CLI::App& command, RunArguments& arguments) {
  command.add_option("SPEC", arguments.spec_path, "Spec file (.fa), or - for standard input")
      ->type_name("FILE")
      ->required();
  arguments.spec.declare(command);
  arguments.size.declare(command);
  declare_params(command, arguments.params);
  command.add_option("--dropout", arguments.dropout, "Dropout probability [the spec's]")
      ->type_name("P")
      ->group("Problem");
  command.add_option("--seed", arguments.seed, "Seed of generated tensors and of dropout [1]")
      ->check(seed())
      ->type_name("N")
      ->group("Problem");
  const auto file = [&](const char* name, std::string& path, const char* description) {
    command.add_option(name, path, description)->type_name("FILE.npy")->check(file_name())->group("Files");
  };
  file("--q", arguments.q, "Read q from here: [batch, heads, q_len, head_dim]");
  file("--k", arguments.k, "Read k from here: [batch, kv_heads, kv_len, head_dim]");
  file("--v", arguments.v, "Read v from here: [batch, kv_heads, kv_len, head_dim_v]");
  command.add_option("--tensor", arguments.tensors, "Read a captured tensor from a file; may be repeated")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->group("Files");
  const auto output = [&](const char* name, std::string& path, const char* description) {
    command.add_option(name, path, description)->type_name("FILE.npy")->check(output_name())->group("Files");
  };
  output("--out", arguments.out, "Write o here: [batch, heads, q_len, head_dim_v]");
  output("--lse", arguments.lse, "Write the log-sum-exp here, float32: [batch, heads, q_len]");
  arguments.device.declare(command);
  arguments.device.impl.declare(command);
  command
      .add_option("--layout", arguments.layout,
                  "How q, k, v, o lie in memory while running: bhsd or bshd [bhsd]")
      ->check(one_of({"bhsd", "bshd"}))
      ->type_name("LAYOUT")
      ->group("Device");
  command.add_option("--repeat", arguments.repeat, "Timed runs [as many as fit half a second, 3 to 20]")
      ->type_name("N")
      ->check(positive());
  command.add_flag("--verify", arguments.verify,
                   "Compare with the fp64 reference, and check as --checked does");
  command.add_flag("--checked", arguments.checked, "Refuse hooks that read outside their tensors");
  arguments.backward.declare(command,
                             "The backward pass, too: dq, dk, dv and the gradients of what is marked grad");
  command
      .add_option("--verify-rows", arguments.verify_rows,
                  "Rows to compare [all, or a sample where that is long]")
      ->type_name("N")
      ->check(positive());
  arguments.json.declare(command, "the report");
}

ProblemInputs problem_inputs(const RunArguments& arguments) {
  ProblemInputs inputs;
  inputs.params = parse_assignments(arguments.params, "--set");
  inputs.files = parse_assignments(arguments.tensors, "--tensor");
  SizeArguments size = arguments.size;
  if (!arguments.q.empty()) {
    inputs.files["q"] = arguments.q;
    sizes_of_file(arguments.q, "q", size.heads, size.q_len, size.batch);
  }
  if (!arguments.k.empty()) {
    inputs.files["k"] = arguments.k;
    sizes_of_file(arguments.k, "k", size.kv_heads, size.kv_len, size.batch);
  }
  if (!arguments.v.empty()) {
    inputs.files["v"] = arguments.v;
    sizes_of_file(arguments.v, "v", size.kv_heads, size.kv_len, size.batch);
  }
  inputs.size = size.size();
  inputs.dropout = arguments.dropout;
  inputs.dropout_seed = inputs.data_seed = arguments.seed;
  return inputs;
}

/// What was run and how it went.
struct RunReport {
  KernelPlan plan;
  TimingSummary time;
  CountedFlops counted;
  Outputs outputs;
  std::int64_t empty_rows = 0, nans = 0;
  std::optional<ErrorBound> bound;
  std::optional<Comparison> comparison;
  std::optional<GradientReport> gradients;
  bool is_interrupted = false;  // before it was compared
};

RunReport compute(const RunArguments& arguments, Options options, const Problem& problem,
                  const Kernel& kernel, Progress& progress) {
  const Layout layout = arguments.layout == "bshd" ? Layout::bshd : Layout::bhsd;
  Session session(problem, kernel.device(), options.cuda_device, layout);
  if (arguments.checked || arguments.verify) {
    progress.relabel("looking for reads outside their tensors");
    options.checked = true;
    session.launch(compile_with(problem.spec, options));
  }
  session.poison_outputs();
  progress.relabel("running");
  RunReport report;
  report.plan = session.plan_of(kernel);
  const double first = session.time(kernel, 1)[0];  // also the warm-up
  report.time = summarise(
      session.time(kernel, arguments.repeat > 0 ? arguments.repeat : runs_that_fit(500, first, 20)));
  report.outputs = session.outputs();
  report.counted = count_flops(problem);
  report.empty_rows = std::count(report.outputs.lse.begin(), report.outputs.lse.end(), -HUGE_VALF);
  for (std::int64_t i = 0; i < report.outputs.o.elements(); ++i) {
    if (std::isnan(report.outputs.o.get(i))) ++report.nans;
  }

  const std::int64_t limit = arguments.verify_rows > 0 ? arguments.verify_rows
                             : arguments.verify        ? affordable_rows(problem.spec, problem.size)
                                                       : 0;
  const OnProgress on_progress = [&](double done) {
    stop_if_interrupted();
    progress.update(done);
  };
  if (arguments.backward.asked)
    report.gradients = report_gradients(
        kernel, problem,
        {.layout = layout,
         .seed = arguments.seed,
         .repeat = arguments.repeat,
         .rows = limit,
         .forward_flops = report.counted.flops,
         .cuda_device = options.cuda_device},
        [&](const char* step) { progress.relabel(step); }, on_progress);
  if (limit > 0) {
    progress.relabel("computing the fp64 reference");
    try {
      const auto reference = reference_forward(problem, sample_rows(problem.size, limit), on_progress);
      report.bound = error_bound(problem.spec.dtype(), problem.spec.head_dim(), problem.size.kv_len);
      report.comparison =
          compare(reference, *report.bound, problem.size, report.outputs.o, report.outputs.lse);
    } catch (const Interrupted&) {
      report.is_interrupted = true;
    }
  }
  return report;
}

/// A row's first elements: "0.0123  -1.2034  ...".
std::string preview(const HostTensor& o, std::int64_t row) {
  const std::int64_t width = o.shape[3];
  std::string text;
  for (std::int64_t d = 0; d < std::min<std::int64_t>(width, 6); ++d)
    text += fmt::format("{:>9.4f}", o.get(row * width + d));
  return width > 6 ? text + "  ..." : text;
}

/// What --verify found. `line` prints a label and a text.
void print_comparison(const Problem& problem, const RunReport& report, std::int64_t rows, const auto& line) {
  const bool colour = takes_colour(STDOUT_FILENO);
  const Comparison& comparison = *report.comparison;
  const std::int64_t looked_at = comparison.rows + comparison.doubtful_rows;
  if (comparison.rows == 0) {
    line("verify", fmt::format("nothing could be compared: all {} rows that were looked at are left out",
                               with_commas(looked_at)));
  } else {
    const std::string verdict =
        comparison.holds() ? styled("ok", Style::green, colour) : styled("FAILED", Style::red, colour);
    line("verify", fmt::format("{}: {} of {} rows against fp64; max error of o {:.2e}, of lse {:.2e}",
                               verdict, with_commas(comparison.rows), with_commas(rows), comparison.max_error,
                               comparison.max_lse_error));
  }
  for (const HookFile* file : {&problem.spec.checked().score_from, &problem.spec.checked().mask_from})
    if (!file->path.empty())
      line("", fmt::format("its hook: {} as it was read, interpreted instruction by instruction in fp64",
                           file->path));
  if (comparison.doubtful_rows > 0) {
    const bool is_undefined = comparison.doubt->is_undefined;
    line("",
         fmt::format("{} of {} rows left out, where {}:", with_commas(comparison.doubtful_rows),
                     with_commas(looked_at),
                     is_undefined ? "the hook's file says nothing about the value"
                                  : "correct targets may differ in the last bit and so decide otherwise"));
    line("", fmt::format("  {}", comparison.print_doubt()));
    line("", is_undefined
                 ? "  to be sure, give every variable a value before it is used"
                 : "  to be sure, compare integers, or move the bound by half a unit in the last place");
  }
  if (comparison.odd_elements > 0)
    line("", fmt::format("{} elements of o are NaN, and may be: v holds a NaN or an infinity where the "
                         "probability is 0; fill padding with zeros",
                         with_commas(comparison.odd_elements)));
  line("", fmt::format("bound {}", report.bound->print()));
  if (comparison.rows > 0)
    line("", fmt::format("nearest to it, {:.0f}%: {}", comparison.worst * 100, comparison.print_worst()));
}

void print_report(const Problem& problem, const Kernel& kernel, int cuda_device, const RunReport& report) {
  const bool colour = takes_colour(STDOUT_FILENO);
  const auto line = [&](std::string_view label, const std::string& text) {
    fmt::print("  {} {}\n", styled(fmt::format("{:<10}", label), Style::cyan, colour), text);
  };
  const Spec& spec = problem.spec;
  fmt::print("{}  {}\n", styled(spec.name(), Style::bold, colour), describe_spec(spec));
  line("device", describe_device(kernel, cuda_device));
  line("plan", describe_plan_of_call(kernel, report.plan));
  line("compiled", describe_times(kernel.times()));
  if (const std::string cache = describe_cache(kernel.times()); !cache.empty()) line("cache", cache);
  if (!kernel.times().tuned.empty()) line("tuned", kernel.times().tuned);
  line("problem", describe_problem(problem));
  line("time",
       fmt::format("{}, median of {}; {}, counting {}", print_milliseconds(report.time.median),
                   report.time.runs,
                   print_rate(report.counted.flops, report.time.median, kernel.device() == Device::cuda),
                   report.counted.what));
  const auto& o = report.outputs.o;
  line("output",
       fmt::format("o {} {}, checksum {:016x}", print_shape(o.shape), dtype_name(o.dtype), checksum(o)));
  const std::int64_t rows = o.shape[0] * o.shape[1] * o.shape[2];
  std::int64_t shown = -1;
  for (const std::int64_t row : {std::int64_t{0}, rows / 2, rows - 1}) {
    if (row == shown) continue;
    shown = row;
    const std::int64_t head = row / o.shape[2];
    const std::string where =
        fmt::format("o[{}, {}, {}]", head / o.shape[1], head % o.shape[1], row % o.shape[2]);
    line("", fmt::format("{:<18}{}   lse {:.4f}", where, preview(o, row),
                         report.outputs.lse[static_cast<std::size_t>(row)]));
  }
  line("empty rows", fmt::format("{} of {}", with_commas(report.empty_rows), with_commas(rows)));
  if (report.nans > 0) {
    line("nan",
         styled(fmt::format("{} of {} elements of o", with_commas(report.nans), with_commas(o.elements())),
                Style::yellow, colour));
  }
  if (report.comparison) print_comparison(problem, report, rows, line);
  if (report.gradients) print_gradients(*report.gradients, line, colour);
}

nlohmann::json to_json(const Problem& problem, const Kernel& kernel, const RunReport& report) {
  nlohmann::json result{{"spec", spec_json(problem.spec)},
                        {"kernel", kernel_json(kernel, report.plan)},
                        {"problem", problem_json(problem)},
                        {"time_ms", timing_json(report.time)},
                        {"tflops", report.counted.flops / report.time.median * 1e-9},
                        {"flops_counted", report.counted.what},
                        {"checksum", fmt::format("{:016x}", checksum(report.outputs.o))},
                        {"empty_rows", report.empty_rows},
                        {"nans", report.nans}};
  if (report.gradients) result["backward"] = to_json(*report.gradients);
  if (report.comparison) {
    const Comparison& comparison = *report.comparison;
    result["verify"] = {{"ok", comparison.holds()},
                        {"rows", comparison.rows},
                        {"doubtful_rows", comparison.doubtful_rows},
                        {"odd_elements", comparison.odd_elements},
                        {"doubt", comparison.doubt ? nlohmann::json(comparison.print_doubt()) : nullptr},
                        {"max_error", comparison.max_error},
                        {"max_lse_error", comparison.max_lse_error},
                        {"worst_share_of_bound", comparison.worst},
                        {"worst", comparison.print_worst()},
                        {"bound", report.bound->print()}};
  }
  return result;
}

HostTensor lse_tensor(const Outputs& outputs) {
  HostTensor tensor("lse", DType::f32, {outputs.o.shape[0], outputs.o.shape[1], outputs.o.shape[2]});
  std::memcpy(tensor.bytes.data(), outputs.lse.data(), tensor.bytes.size());
  return tensor;
}

int run_run(const RunArguments& arguments) {
  if (!arguments.out.empty() && !arguments.lse.empty() && is_same_output(arguments.out, arguments.lse)) {
    throw ArgumentError(
        fmt::format("--out and --lse both name {}: each needs a file of its own", arguments.lse));
  }
  arguments.json.check_apart_from({arguments.spec_path}, "SPEC");
  arguments.json.check_apart_from({arguments.out, arguments.lse}, "--out or --lse");
  const Spec spec = arguments.spec.load(arguments.spec_path);
  check_apart_from_spec(arguments.out, "--out", spec);
  check_apart_from_spec(arguments.lse, "--lse", spec);
  check_apart_from_spec(arguments.json.file(), "--json", spec);
  for (const auto& warning : spec.warnings()) report_diagnostic(warning);
  const ProblemInputs inputs = problem_inputs(arguments);
  const Options options = arguments.device.options(arguments.backward);
  arguments.json.prepare();
  for (const std::string& path : {arguments.out, arguments.lse})
    if (!path.empty()) check_output(path);

  std::optional<Kernel> kernel;
  std::optional<Problem> problem;
  RunReport report;
  const Interruptible interruptible;
  {
    Progress progress("making tensors");
    problem = make_problem(spec, inputs);
    stop_if_interrupted();
    progress.relabel("compiling");
    kernel = compile_with(spec, options);
    stop_if_interrupted();
    report = compute(arguments, options, *problem, *kernel, progress);
  }

  if (!arguments.out.empty()) write_npy(arguments.out, report.outputs.o);
  if (!arguments.lse.empty()) write_npy(arguments.lse, lse_tensor(report.outputs));
  if (arguments.json.asked()) arguments.json.write(to_json(*problem, *kernel, report));
  if (arguments.json.shows_text()) {
    print_report(*problem, *kernel, options.cuda_device, report);
    if (arguments.backward.repeats()) fmt::print("  repeats    {}\n", describe_repeats(kernel->device()));
    for (const std::string& path : {arguments.out, arguments.lse})
      if (!path.empty()) fmt::print("  wrote {}\n", path);
  }
  if (report.is_interrupted) {
    report_error("interrupted: computed and timed, not verified");
    return kInterrupted;
  }
  if (report.comparison && !report.comparison->holds()) return kFailed;
  return report.gradients && !report.gradients->holds() ? kFailed : kOk;
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* const command =
      app.add_subcommand("run", "Compute a spec on this machine, show and check the result");
  command->footer(kRunFooter);
  declare(*command, *arguments);
  command->callback([arguments, &action] { action = [arguments] { return run_run(*arguments); }; });
}

}  // namespace fa::tools
