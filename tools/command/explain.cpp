// facet explain: what the compiler knows about a spec and decides for it, and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "compiler/schedule/cost.h"
#include "runtime/system/options.h"
#include "runtime/system/output.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/spec_file.h"
#include "tools/command/validators.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/explanation/explanation.h"
#include "tools/plans/plan_table.h"
#include "tools/problem/describe.h"
#include "tools/problem/workspace.h"
#include "tools/tiles/tile_map.h"
#include "tools/tiles/tile_share.h"
#include "tools/tiles/tiles.h"
#include "tools/tune/origin.h"

namespace fa::tools {

namespace {

constexpr const char* kExplainFooter = R"(
Nothing runs: the plan is chosen for --gpu, whatever is in this machine. Without --gpu it is this machine's GPU, or the
A100 where there is none. --gpu host explains the CPU kernel, as this machine's CPU has it.
The plan is the compiler's own choice, or that of --plan. "compile takes" says which plan `fa::compile` would build:
that one, one that `facet tune` has measured or predicted, and since when it is remembered, or one that ships with Facet.
Where small calls have plans of their own, "plans by call" lists all of them: docs/tuning.md.
Shared memory is exact; registers are an estimate, and the figure of the built kernel with --build (needs NVRTC, no GPU).
FLOPs and bytes are those of one forward pass over --q-len and --kv-len: standard attention, which writes and reads
every score, against the fused kernel; once by exact count, once by the formulas of the FlashAttention paper.
The predicted time counts the tiles that the mask leaves.
--impl standard and flash1 explain that baseline instead, which no model predicts: docs/baselines.md.
--tiles runs the mask's tile classes on the plan's tiles, as the kernel does: captured tensors are read from --tensor
files, or filled as `facet run` fills them.

Examples:
  facet explain specs/causal.fa
  facet explain specs/softcap.fa --gpu h100 --q-len 8192 --kv-len 8192 --build
  facet explain specs/full.fa --dtype f16 --head-dim 256 --gpu t4 --json
  facet explain specs/document.fa --tiles --q-len 8192 --map document.svg
  facet explain specs/sliding_window.fa --tiles --q-len 65536 --set window=4096 --plan "tile_q=128 tile_kv=64")";

struct ExplainArguments {
  std::string spec_path;
  SpecArguments spec;
  SizeArguments size;
  std::string gpu, plan;
  bool build = false;
  bool tiles = false;
  BackwardArguments backward;
  ImplArgument impl;
  std::string map;
  std::vector<std::string> params, tensors;
  JsonOption json;
};

/// Tile classes of the plan's tiles on the problem that the arguments describe.
TileReport explain_tiles(const ExplainArguments& arguments, const Spec& spec, const Plan& plan) {
  ProblemInputs inputs;
  inputs.size = arguments.size.size();
  inputs.params = parse_assignments(arguments.params, "--set");
  inputs.files = parse_assignments(arguments.tensors, "--tensor");
  Progress progress("making tensors");
  const Problem problem = make_mask_problem(spec, inputs);
  progress.relabel("classifying tiles");
  TileReport report = report_tiles(problem, plan.tile_q, plan.tile_kv, nullptr, [&](double done) {
    stop_if_interrupted();
    progress.update(done);
  });
  if (arguments.map.empty()) return report;
  write_output(arguments.map,
               tile_map_svg(report.grid, fmt::format("{}: {}", spec.name(), describe_size(inputs.size))));
  return report;
}

Explanation explain(const ExplainArguments& arguments, const Spec& spec) {
  const Target& target = arguments.gpu.empty() ? default_gpu_target() : named_target(arguments.gpu);
  Explanation result{
      .spec = spec,
      .target = target,
      .size = arguments.size.size(),
      .compiled = front_end(spec, target, arguments.impl.plan(arguments.plan), arguments.backward.passes()),
      .origin = {},
      .traffic = {},
      .predicted_ms = 0,
      .predicted_dense_ms = 0,
      .share = std::nullopt,
      .own_plans = {},
      .taken_plans = {},
      .built = std::nullopt,
      .tiles = std::nullopt,
      .reads_files = !arguments.tensors.empty(),
      .workspace = 0,
      .backward_plan = {},
      .backward_workspace = 0};
  const Plan& plan = result.compiled.choice.plan;
  Options options;
  options.plan = arguments.impl.plan(arguments.plan);
  result.origin = origin_of_plan(spec, target, result.compiled.plans, resolve(options, environment()));
  const auto shown = [&](const PlanTable& table) {
    return show_table(table, spec.checked(), result.compiled.facts, target);
  };
  result.own_plans = shown(result.compiled.plans);
  result.taken_plans = shown(result.origin.table);
  result.traffic = count_traffic(spec.checked(), result.compiled.facts, plan, target, result.size);
  if (!target.is_host()) {
    if (arguments.build) {
      const Progress progress("building with NVRTC");
      result.built = build_for_inspection(*result.compiled.source);
    }
  }
  if (arguments.backward.asked && target.is_host())
    result.backward_plan = "that of the forward pass; bits repeat";
  if (arguments.backward.asked && !target.is_host()) {
    const BackwardPlan chosen = arguments.backward.plan(spec.checked(), result.compiled, target);
    result.backward_plan = chosen.print();
    result.backward_workspace = backward_workspace(
        spec, emit_backward_for_gpu(spec.checked(), result.compiled, chosen, target).program, result.size);
  }
  if (arguments.tiles) result.tiles = explain_tiles(arguments, spec, plan);
  if (plan.is_baseline()) {
    result.workspace = baseline_workspace(spec, result.compiled, target, result.size);
  } else if (!target.is_host()) {
    ProblemInputs inputs;
    inputs.size = result.size;
    result.share = result.tiles ? result.tiles->share_of_work()
                                : share_of_tiles(spec, inputs, plan.tile_q, plan.tile_kv);
    const auto predicted = [&](double share) {
      return predict(plan, spec.checked(), result.compiled.facts, target, result.size, share).ms;
    };
    result.predicted_ms = predicted(result.share.value_or(1));
    result.predicted_dense_ms = predicted(1);
  }
  return result;
}

int run_explain(const ExplainArguments& arguments) {
  const Spec spec = arguments.spec.load(arguments.spec_path);
  for (const auto& warning : spec.warnings()) report_diagnostic(warning);
  arguments.backward.check();
  if (!arguments.tiles && !(arguments.map.empty() && arguments.params.empty() && arguments.tensors.empty()))
    throw ArgumentError("--map, --set and --tensor say something about tiles: add --tiles");
  arguments.json.check_apart_from({arguments.spec_path}, "SPEC");
  arguments.json.check_apart_from({arguments.map}, "--map");
  check_apart_from_spec(arguments.map, "--map", spec);
  check_apart_from_spec(arguments.json.file(), "--json", spec);
  arguments.json.prepare();
  if (!arguments.map.empty()) check_output(arguments.map);
  const Interruptible interruptible;
  const Explanation explanation = explain(arguments, spec);
  if (arguments.json.asked()) arguments.json.write(to_json(explanation));
  if (arguments.json.shows_text()) {
    print_explanation(explanation);
    if (!arguments.map.empty()) fmt::print("  wrote {}\n", arguments.map);
  }
  return kOk;
}

}  // namespace

void add_explain_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* const command = app.add_subcommand("explain", "Say what the compiler knows and decides, and why");
  command->footer(kExplainFooter);
  command->add_option("SPEC", arguments->spec_path, "Spec file (.fa), or - for standard input")
      ->type_name("FILE")
      ->required();
  arguments->spec.declare(*command);
  arguments->size.declare(*command);
  command->add_option("--gpu", arguments->gpu, "Target: " + target_names())
      ->type_name("NAME")
      ->check(suggested(target_words(true)))
      ->group("Device");
  command
      ->add_option("--plan", arguments->plan,
                   "Force a plan, or parts of one that the model completes: \"tile_q=128 tile_kv=64\"")
      ->type_name("PLAN")
      ->group("Device");
  arguments->impl.declare(*command);
  command->add_flag("--build", arguments->build, "Build it, for the registers it really takes")
      ->group("Device");
  arguments->backward.declare(*command, "The plan and the workspace of the backward pass, too");
  command
      ->add_flag("--tiles", arguments->tiles,
                 "Say which tiles the mask leaves, what proves it, and draw them")
      ->group("Tiles");
  command->add_option("--map", arguments->map, "With --tiles: write the picture here, as SVG")
      ->type_name("FILE.svg")
      ->check(output_name())
      ->group("Tiles");
  declare_params(*command, arguments->params);
  command->add_option("--tensor", arguments->tensors, "Read a captured tensor from a file; may be repeated")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->group("Tiles");
  arguments->json.declare(*command, "the explanation");
  command->callback([arguments, &action] { action = [arguments] { return run_explain(*arguments); }; });
}

}  // namespace fa::tools
