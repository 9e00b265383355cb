// facet tune: times plans of specs here, or predicts them for GPUs that are elsewhere, and remembers the fastest,
// which every later compile takes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/build/device_target.h"
#include "runtime/host/jit.h"
#include "runtime/host/pool.h"
#include "runtime/system/options.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/ship_option.h"
#include "tools/command/validators.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/console/text.h"
#include "tools/console/version.h"
#include "tools/problem/describe.h"
#include "tools/tune/predict.h"
#include "tools/tune/report.h"
#include "tools/tune/session_timer.h"
#include "tools/tune/shares.h"
#include "tools/tune/stored.h"

namespace fa::tools {
namespace {

constexpr const char* kTuneFooter = R"(
The legal plans (tile sizes and the rest of what `facet explain` prints as plan) are timed in turns with the best one so
far, the most promising first, in rounds that each keep the better half; about a quarter of them is timed at all. On a GPU each of
several lengths is tuned for itself, in its share of the budget, and kernels take the plan of the length that is nearest;
on the host a plan's time is the geometric mean over them. The fastest plan is remembered for this spec, device, Facet and
compiler, and `fa::compile` takes it from then on, unless Options::tune or FA_TUNE say never.
What is measured is kept at once: after Ctrl-C, or when the budget is used up, the same command goes on from there.
The folder is FA_TUNE_DIR, else the kernel cache's with -tuned after its name; nothing in it is evicted.

--gpu NAME,... predicts instead, for GPUs that need not be here: NVRTC builds plans, the most promising first, and the
model of `facet explain` compares them by their real registers, shared memory and spills. Plans that could not be among
the eight best whatever NVRTC makes of them are not built, unless --exhaustive is given.
Such a plan is remembered as predicted, for every GPU of that name; a measured one always counts more. Without a length
the model is asked about B2 H16 N8192. On a machine with that GPU `facet tune` then times only the default and the eight
most promising plans, unless --exhaustive is given.

Tables of plans ship with Facet, one for each GPU that somebody has tuned or predicted for (docs/tuning.md). They count where
nothing is remembered that knows more: measured here, measured and shipped, predicted here, predicted and shipped.
--ship DIR puts what is found into such a table: plans more than 2% faster than the compiler's own.

Examples:
  facet tune specs/causal.fa --q-len 4096
  facet tune specs/*.fa --device host --dtype f32 --head-dim 64 --budget 30s
  facet tune specs/full.fa --exhaustive --json full.json
  facet tune specs/causal.fa --gpu t4,a100,l4,rtx4090 --dtype f16
  facet tune specs/*.fa --q-len 512,4096 --ship tuned   # for the tables of this checkout
  facet tune --list
  facet tune --list --shipped --gpu h200
  facet tune --export tuned.jsonl                     # then, elsewhere: facet tune --import tuned.jsonl)";

constexpr double kBudget = 60, kNoLimit = 1e9;  // seconds

struct TuneArguments {
  std::vector<std::string> specs;
  SpecArguments spec;
  SizeListArguments size;
  InputArguments inputs;
  DeviceArguments device;
  std::vector<std::string> gpus;
  std::string budget;
  bool exhaustive = false;
  bool list = false, forget = false;
  std::string export_to, import_from;
  bool shipped = false;
  ShipOption ship;
  JsonOption json;
};

void declare(CLI::App& command, TuneArguments& arguments) {
  command.add_option("SPEC", arguments.specs, "Spec files (.fa), or - for standard input")->type_name("FILE");
  arguments.spec.declare(command);
  arguments.size.declare(command);
  arguments.inputs.declare(command);
  arguments.device.declare(command, &arguments.gpus);
  command
      .add_option("--budget", arguments.budget,
                  "Most to spend on each spec, and GPU: 30, 30s, 5m, 1h [60s; with --gpu none]")
      ->type_name("TIME");
  command.add_flag("--exhaustive", arguments.exhaustive,
                   "Time every legal plan (with --gpu build it), without --budget for as long as it takes");
  constexpr const char* kStored = "Remembered plans";
  command.add_flag("--list", arguments.list, "Show them, of SPEC alone where given")->group(kStored);
  command.add_flag("--forget", arguments.forget, "Drop them, of SPEC alone where given")->group(kStored);
  command.add_option("--export", arguments.export_to, "Write them to a file, or - for standard output")
      ->type_name("FILE")
      ->check(file_name())
      ->group(kStored);
  command.add_option("--import", arguments.import_from, "Add those of a file that --export wrote")
      ->type_name("FILE")
      ->check(file_name())
      ->group(kStored);
  command
      .add_flag("--shipped", arguments.shipped,
                "With --list: the plans that ship with Facet, of --gpu alone where given")
      ->group(kStored);
  arguments.ship.declare(command);
  arguments.json.declare(command, "the results, with every plan's time,");
}

double parse_seconds(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || scale == 0 || !(number >= 0 && number <= 1e6))
    throw ArgumentError(fmt::format("--budget '{}': write seconds, minutes or hours: 30s, 5m, 1h", text));
  return number * scale;
}

/// cuda or host, and the target whose kernels are tuned.
const Target& resolve_target(Options& options) {
  const std::string& why_not =
      options.device == Device::host ? std::string() : why_no_cuda(options.cuda_device);
  const bool wants_gpu = options.device == Device::cuda || !options.target.empty();
  if (wants_gpu && options.device != Device::host && !why_not.empty()) throw DeviceError(why_not, 0);
  if (options.device == Device::automatic) options.device = why_not.empty() ? Device::cuda : Device::host;
  if (options.device == Device::host) return host_target();
  return target_named(options.target, CudaDevice::get(options.cuda_device).info());
}

class Tuning {
 public:
  explicit Tuning(const TuneArguments& arguments)
      : arguments_(arguments),
        options_(arguments.device.options()),
        target_(resolve_target(options_)),
        store_(open_plan_store(options_.cache_dir)) {
    search_.exhaustive = arguments.exhaustive;
    budget_ = !arguments.budget.empty() ? parse_seconds(arguments.budget)
              : arguments.exhaustive    ? kNoLimit
                                        : kBudget;
  }

  /// What is timed together: on a GPU each size for itself, since calls of each may have a plan of their own; on the
  /// host, whose kernels have one plan, all sizes.
  std::vector<std::vector<ProblemInputs>> problems(const Spec& spec, std::size_t num_specs) const {
    std::vector<std::vector<ProblemInputs>> all;
    for (const ProblemSize& size : arguments_.size.sizes()) {
      if (all.empty() || on_cuda()) all.emplace_back();
      all.back().push_back(arguments_.inputs.of(spec, num_specs, size));
    }
    return all;
  }

  /// `share`: of the budget.
  TuneOutcome run(const Spec& spec, const std::vector<ProblemInputs>& inputs, double share) {
    search_.budget_seconds = budget_ < kNoLimit ? budget_ * share : budget_;
    Progress progress(fmt::format("{}: making tensors", spec.name()));
    SessionTimer timer(spec, inputs, options_.device, options_.cuda_device, target_);
    progress.relabel(fmt::format("{}: compiling", spec.name()));
    Shares shares(spec, inputs);
    const TuneRequest request{
        .spec = spec,
        .options = options_,
        .size = inputs.front().size,
        .problem = describe_timed(spec, inputs),
        .search = search_,
        .share_of_tiles = [&](const Plan& plan, const ProblemSize& size) { return shares.of(plan, size); },
        .is_for_size = on_cuda(),
        .builders = on_cuda() ? builders() : 0};
    const TuneWatch watch{.progress = [&](const TuneProgress& at) { show(progress, spec, at); },
                          .is_stopped = is_interrupted};
    return tune(request, target_, store_, timer, watch);
  }

  bool on_cuda() const { return options_.device == Device::cuda; }

  /// All cores but the one that times. None where kernels are PTX that the driver compiles when it loads it: launches wait
  /// meanwhile.
  int builders() const {
    if (target_.nvrtc_arch.starts_with("compute")) return 0;
    return (options_.num_threads > 0 ? options_.num_threads : usable_cores()) - 1;
  }
  const Target& target() const { return target_; }

 private:
  /// "causal: 5 plans timed, 1.08x with tile_q=64 ..., 12 s left"
  void show(Progress& progress, const Spec& spec, const TuneProgress& at) const {
    std::string text =
        fmt::format("{}: {} of {} plans, {:.2f}x with {}", spec.name(), at.timed, at.of, at.gain, at.leader);
    const double left = std::max(0.0, search_.budget_seconds - at.elapsed);
    if (search_.budget_seconds < kNoLimit) text += fmt::format(", at most {:.0f} s left", left);
    progress.relabel(std::move(text));
  }

  const TuneArguments& arguments_;
  Options options_;
  const Target& target_;
  PlanStore store_;
  SearchSettings search_;
  double budget_ = kBudget;  // of a spec
};

/// Throws ArgumentError where a plan is named, of which facet tune would take no notice.
void refuse_plan(const TuneArguments& arguments) {
  if (!arguments.device.plan.empty())
    throw ArgumentError("--plan names a plan, and facet tune looks for one: leave it out");
  if (!environment().plan.empty())
    throw ArgumentError(
        fmt::format("FA_PLAN='{}' names a plan, and facet tune looks for one: unset it", environment().plan));
}

int tune_specs(TuneArguments& arguments, const std::vector<Spec>& specs) {
  refuse_plan(arguments);
  Tuning tuning(arguments);
  arguments.ship.check(tuning.target());
  const Interruptible interruptible;
  std::vector<TuneOutcome> outcomes;
  std::size_t finished = 0;
  bool all_kept = true;
  Steps steps(specs.size());
  for (const Spec& spec : specs) {
    if (is_interrupted()) break;
    steps.next();
    try {
      const auto problems = tuning.problems(spec, specs.size());
      for (const std::vector<ProblemInputs>& inputs : problems) {
        if (is_interrupted()) break;
        outcomes.push_back(tuning.run(spec, inputs, 1.0 / static_cast<double>(problems.size())));
        const TuneOutcome& outcome = outcomes.back();
        const ProgressHidden hidden;
        const std::string ships = arguments.ship.add(spec, tuning.target(), outcome.best);
        if (arguments.json.shows_text()) print_outcome(outcome, ships);
        if (!outcome.not_kept.empty()) report_error("not kept: " + outcome.not_kept);
        all_kept = all_kept && outcome.not_kept.empty();
      }
    } catch (const Interrupted&) {
      break;
    }
    if (!is_interrupted()) ++finished;
  }
  const ProgressHidden hidden;
  nlohmann::json results = nlohmann::json::array();
  for (const TuneOutcome& outcome : outcomes) results.push_back(outcome_json(outcome));
  nlohmann::json report{{"command", command_line()},
                        {"date", timestamp()},
                        {"versions", versions_json(tuning.on_cuda(), arguments.device.cuda_device)},
                        {"results", results}};
  if (is_interrupted()) report["interrupted"] = {{"done", finished}, {"of", specs.size()}};
  if (!outcomes.empty()) arguments.json.write(report);
  if (is_interrupted()) {
    report_error(
        fmt::format("interrupted: {} of {} specs are tuned; what was timed is kept", finished, specs.size()));
    return kInterrupted;
  }
  return all_kept ? kOk : kFailed;
}

/// The targets of --gpu, each once.
std::vector<const Target*> predicted_targets(const TuneArguments& arguments) {
  refuse_plan(arguments);
  if (arguments.device.device == "host")
    throw ArgumentError("--gpu predicts plans of GPUs, --device host times plans of the CPU: leave out one");
  std::vector<const Target*> targets;
  for (const std::string& name : arguments.gpus) {
    const Target* const target = &check_gpu_target(name);
    if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
  }
  return targets;
}

/// The sizes that predictions are for: those asked for, else the one that the compiler asks its model about.
std::vector<ProblemInputs> predicted_inputs(const TuneArguments& arguments, const Spec& spec) {
  const SizeListArguments& asked = arguments.size;
  const bool is_asked =
      asked.batch || asked.heads || asked.kv_heads || !asked.q_lens.empty() || !asked.kv_lens.empty();
  std::vector<ProblemInputs> inputs;
  for (const ProblemSize& size : is_asked ? asked.sizes() : std::vector{ProblemSize{}})
    inputs.push_back(arguments.inputs.of(spec, arguments.specs.size(), size));
  return inputs;
}

int predict_specs(TuneArguments& arguments, const std::vector<Spec>& specs) {
  const std::vector<const Target*> targets = predicted_targets(arguments);
  const double budget = arguments.budget.empty() ? kNoLimit : parse_seconds(arguments.budget);
  const Options options = arguments.device.options();
  const PlanStore store = open_plan_store(options.cache_dir);
  for (const Target* const target : targets) arguments.ship.check(*target);
  const Interruptible interruptible;
  nlohmann::json results = nlohmann::json::array();
  std::size_t finished = 0;
  bool all_well = true, any_refused = false;
  Steps steps(specs.size() * targets.size());
  for (const Spec& spec : specs) {
    for (const Target* const target : targets) {
      if (is_interrupted()) break;
      steps.next();
      const std::string label = kernel_label(spec.checked(), target->name);
      try {
        const PredictOutcome outcome = predict_and_show(
            spec, predicted_inputs(arguments, spec), *target, store,
            {.budget_seconds = budget, .exhaustive = arguments.exhaustive, .threads = options.num_threads});
        if (!is_interrupted()) ++finished;
        const ProgressHidden hidden;
        if (arguments.json.shows_text()) print_prediction(outcome, label);
        for (const PredictOutcome::Found& found : outcome.found) {
          const std::string ships = arguments.ship.add(spec, *target, found.best);
          if (arguments.json.shows_text()) print_ships(ships);
        }
        if (!outcome.not_kept.empty()) report_error("not kept: " + outcome.not_kept);
        all_well = all_well && outcome.not_kept.empty() && !outcome.found.empty();
        for (nlohmann::json& report : prediction_json(outcome, label)) results.push_back(std::move(report));
      } catch (const SpecError& error) {  // this GPU cannot run it; others may
        const ProgressHidden hidden;
        for (const Diagnostic& diagnostic : error.diagnostics()) report_diagnostic(diagnostic);
        report_error(fmt::format("{}: nothing is predicted", label));
        results.push_back({{"label", label}, {"refused", error.what()}});
        any_refused = true;
      }
    }
  }
  const ProgressHidden hidden;
  nlohmann::json report{{"command", command_line()},
                        {"date", timestamp()},
                        {"versions", versions_json(false, 0)},
                        {"results", results}};
  if (is_interrupted()) report["interrupted"] = {{"done", finished}, {"of", specs.size() * targets.size()}};
  if (!results.empty()) arguments.json.write(report);
  if (is_interrupted()) {
    report_error(fmt::format("interrupted: {} of {} predictions are made; what was built is kept", finished,
                             specs.size() * targets.size()));
    return kInterrupted;
  }
  return any_refused ? kBadInput : all_well ? kOk : kFailed;
}

int run_tune(TuneArguments& arguments) {
  const int asked = (arguments.list ? 1 : 0) + (arguments.forget ? 1 : 0) +
                    (arguments.export_to.empty() ? 0 : 1) + (arguments.import_from.empty() ? 0 : 1);
  if (asked > 1) throw ArgumentError("--list, --forget, --export and --import: give one of them");
  if (arguments.shipped && !arguments.list)
    throw ArgumentError("--shipped shows the plans that ship with Facet: write --list --shipped");
  if (asked > 0 && arguments.ship.asked())
    throw ArgumentError(
        "--ship puts into a table what a search finds, and none is asked for: give a SPEC alone");
  if (asked == 0 && arguments.specs.empty())
    throw ArgumentError("facet tune needs a SPEC, or one of --list, --forget, --export and --import");
  arguments.json.check_apart_from(arguments.specs, "SPEC");
  std::vector<Spec> specs;
  for (const auto& path : arguments.specs) specs.push_back(arguments.spec.load(path));
  arguments.json.prepare();
  if (asked == 0)
    return arguments.gpus.empty() ? tune_specs(arguments, specs) : predict_specs(arguments, specs);

  if (arguments.shipped) return list_shipped(arguments.gpus, specs, arguments.json);
  const PlanStore store = open_plan_store(environment().cache_dir);
  if (arguments.list) return list_plans(store, specs, arguments.json);
  if (arguments.forget) return forget_plans(store, specs, arguments.json);
  if (!arguments.export_to.empty()) return export_plans(store, specs, arguments.export_to, arguments.json);
  if (!specs.empty()) throw ArgumentError("--import takes all plans of its file: leave out SPEC");
  return import_plans(store, arguments.import_from, arguments.json);
}

}  // namespace

void add_tune_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* const command = app.add_subcommand(
      "tune",
      "Time plans of specs on this machine, or predict them for other GPUs, and remember the fastest");
  command->footer(kTuneFooter);
  declare(*command, *arguments);
  command->callback([arguments, &action] { action = [arguments] { return run_tune(*arguments); }; });
}

}  // namespace fa::tools
