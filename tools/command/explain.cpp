// facet explain: what the compiler knows about a spec and decides for it, and why.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "compiler/emit/host/shape.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/product.h"
#include "compiler/schedule/support.h"
#include "compiler/schedule/traffic.h"
#include "runtime/host/jit.h"
#include "runtime/system/options.h"
#include "runtime/system/output.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/targets.h"
#include "tools/command/validators.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/console/text.h"
#include "tools/plans/plan_table.h"
#include "tools/problem/describe.h"
#include "tools/problem/workspace.h"
#include "tools/tiles/tile_map.h"
#include "tools/tiles/tile_share.h"
#include "tools/tiles/tiles.h"
#include "tools/tune/origin.h"

namespace fa::tools {

namespace {

constexpr const char* kFooter = R"(
Nothing runs: the plan is chosen for --gpu, whatever is in this machine. Without --gpu it is this machine's GPU, or the
A100 where there is none. --gpu host explains the CPU kernel, as this machine's CPU has it.
The plan is the compiler's own choice, or that of --plan. "compile takes" says which plan `fa::compile` would build:
that one, or one that `facet tune` has measured or predicted, and since when it is remembered. Where small calls have
plans of their own, "plans by call" lists all of them: docs/tuning.md.
Shared memory is exact; registers are an estimate, and the figure of the built kernel with --build (needs NVRTC, no GPU).
FLOPs and bytes are those of one forward pass over --q-len and --kv-len: standard attention, which writes and reads
every score, against the fused kernel; once by exact count, once by the formulas of the FlashAttention paper.
The predicted time counts the tiles that the mask leaves.
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
  bool backward = false, deterministic = false;
  std::string map;
  std::vector<std::string> params, tensors;
  JsonOption json;
};

struct Explanation {
  const Spec& spec;
  const Target& target;
  ProblemSize size;
  Compiled compiled;
  PlanOrigin origin;  // of the plan that `compile` takes
  Traffic traffic;
  double predicted_ms = 0;             // 0 on the host
  double predicted_dense_ms = 0;       // were no tile left out
  std::optional<double> share;         // of tiles that the mask leaves, where they are counted
  std::vector<ShownPlan> own_plans;    // the compiler's own choice, or what --plan asks for
  std::vector<ShownPlan> taken_plans;  // what `compile` takes
  std::optional<BuiltKernel> built;
  std::optional<TileReport> tiles;
  bool reads_files = false;            // and not only the example tensors
  std::string backward_plan;           // empty: not asked for
  std::size_t backward_workspace = 0;  // bytes, on a GPU
};

/// Which kv tiles the kernel visits.
std::string describe_walk(const Compiled& compiled) {
  if (!compiled.facts.has_mask || compiled.facts.mask_is_always_true) return "every one: nothing is masked";
  const TileClasses& classes = compiled.classes;
  std::string text = "by the mask's class: empty ones are left out, full ones run no mask";
  if (!classes.map) return text;
  text += "; a pass before finds the classes";
  const std::size_t count = classes.summaries.size();
  if (count > 0) text += fmt::format(", from {} one-sided {}", count, count == 1 ? "part" : "parts");
  return text +
         (count > 0 ? " and elements where those do not tell" : ", from elements where bounds do not tell");
}

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
      .compiled = front_end(spec, target, arguments.plan,
                            arguments.backward ? Passes::forward_and_backward : Passes::forward),
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
      .backward_plan = {},
      .backward_workspace = 0};
  const Plan& plan = result.compiled.choice.plan;
  Options options;
  options.plan = arguments.plan;
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
  if (arguments.backward && target.is_host()) result.backward_plan = "that of the forward pass; bits repeat";
  if (arguments.backward && !target.is_host()) {
    const BackwardPlan chosen =
        plan_backward(spec.checked(), result.compiled, target, arguments.deterministic);
    result.backward_plan = chosen.print();
    result.backward_workspace = backward_workspace(
        spec, emit_backward_for_gpu(spec.checked(), result.compiled, chosen, target).program, result.size);
  }
  if (arguments.tiles) result.tiles = explain_tiles(arguments, spec, plan);
  if (!target.is_host()) {
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

/// How the two products are multiplied; on the host by this machine's CPU.
std::string products(const Explanation& e) {
  const auto& checked = e.spec.checked();
  if (!e.target.is_host()) return describe_product(checked.dtype, e.target);
  return describe_products(host_shape(checked, e.compiled.choice.plan, host_cpu()));
}

std::string describe_prediction(const Explanation& e) {
  return fmt::format("{}, {}", print_milliseconds(e.predicted_ms),
                     print_rate(e.traffic.flops * e.share.value_or(1), e.predicted_ms, true));
}

/// What the prediction assumes about the mask; empty where there is none.
std::string describe_assumption(const Explanation& e) {
  if (!e.spec.checked().has_mask_mod()) return {};
  if (!e.share) return "for every tile: counting those that the mask leaves would take long (--tiles does)";
  const char* const tensors = e.spec.tensors().empty() ? ""
                              : e.reads_files          ? ", of the given tensors"
                                                       : ", of the example tensors";
  return fmt::format("for the {:.2f}% of tiles that the mask leaves{}; for every tile {}", *e.share * 100,
                     tensors, print_milliseconds(e.predicted_dense_ms));
}

void print_indented(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size());
    fmt::print("  {}\n", text.substr(at, end - at));
    at = end + 1;
  }
}

void print_explanation(const Explanation& e) {
  const bool colour = takes_colour(STDOUT_FILENO);
  const auto title = [&](std::string_view text) { fmt::print("\n{}\n", styled(text, Style::cyan, colour)); };
  const auto line = [](std::string_view label, const std::string& text) {
    fmt::print("  {:<20} {}\n", label, text);
  };
  const auto& checked = e.spec.checked();
  const Plan& plan = e.compiled.choice.plan;

  fmt::print("{}  {}, for {}: {}\n", styled(e.spec.name(), Style::bold, colour), describe_spec(e.spec),
             e.target.name, e.target.description);
  title("facts");
  print_indented(e.compiled.facts.print());
  title("clamped reads");
  if (e.compiled.facts.clamped.empty()) fmt::print("  none: every index is proved in range\n");
  for (const auto& read : e.compiled.facts.clamped) {
    fmt::print("  {}:{}:{}: index {} of tensor '{}'\n", checked.file, read.line, read.column, read.dimension,
               read.tensor);
  }

  title("plan");
  line("plan", plan.print());
  line("why", e.compiled.choice.why);
  if (e.origin.plan == plan.print()) {
    line("compile takes", "this plan: " + e.origin.why);
  } else {
    line("compile takes", e.origin.plan);
    line("", e.origin.why);
  }
  for (const Family family : e.target.families)
    if (const std::string reason = why_refused(family, checked, e.target); !reason.empty())
      line("why not " + std::string(family_name(family)), reason);
  line("tiles", describe_walk(e.compiled));
  line("products", products(e));
  if (!e.target.is_host()) {
    line("shared memory",
         fmt::format("{} a CTA, of {}", print_bytes(most_shared_memory(e.compiled.source->program)),
                     print_bytes(e.target.max_smem_per_block)));
    line("CTAs on an SM", fmt::format("{}", ctas_that_fit(plan, checked, e.target)));
    line("registers", fmt::format("about {} a thread (estimate)", register_estimate(plan, checked)));
    if (e.built) {
      line("  as built",
           fmt::format("{} a thread, {} bytes spilled, cubin {} for {}, NVRTC took {}", e.built->registers,
                       e.built->spill_bytes, print_bytes(static_cast<double>(e.built->cubin_bytes)),
                       e.compiled.source->arch, print_milliseconds(e.built->milliseconds)));
    }
  }

  if (!e.backward_plan.empty()) {
    title("backward pass");
    line("plan", e.backward_plan);
    if (!e.target.is_host())
      line("workspace", fmt::format("{} for {}", print_bytes(static_cast<double>(e.backward_workspace)),
                                    describe_size(e.size)));
  }
  if (e.taken_plans.size() > 1) {
    title("plans by call, as compile takes them");
    for (const std::string& text : print_table(e.taken_plans)) fmt::print("  {}\n", text);
  }

  title(fmt::format("one forward pass: {}", describe_size(e.size)));
  const Traffic& t = e.traffic;
  line("FLOPs", fmt::format("{:.4g} in the two products, {:.4g} exp2", t.flops, t.exps));
  line("standard attention",
       fmt::format("{} to and from memory ({} by the paper's N d + N^2)", print_bytes(t.standard_bytes),
                   print_bytes(t.standard_bytes_by_formula)));
  const std::string by_formula =
      t.fused_bytes_by_formula > 0
          ? fmt::format(" ({} by the paper's N^2 d^2 / M)", print_bytes(t.fused_bytes_by_formula))
          : "";
  line("fused kernel", fmt::format("{} loaded and stored{}", print_bytes(t.fused_bytes), by_formula));
  line("  from memory",
       fmt::format("{} of these, {} at least; {:.1f}x less than standard", print_bytes(t.hbm_bytes),
                   print_bytes(t.least_bytes), t.standard_bytes / t.hbm_bytes));
  if (t.tensor_ms > 0) {
    line("bound",
         fmt::format("{}: products {}, exp2 {}, memory {}{}", bound_name(t.bound),
                     print_milliseconds(t.tensor_ms), print_milliseconds(t.exp2_ms),
                     print_milliseconds(t.memory_ms), checked.has_mask_mod() ? ", for every score" : ""));
    line("predicted", describe_prediction(e));
    if (const std::string assumed = describe_assumption(e); !assumed.empty()) line("", assumed);
  }
  if (e.tiles) print_tiles(*e.tiles, checked.file, colour);
}

nlohmann::json to_json(const Explanation& e) {
  const Plan& plan = e.compiled.choice.plan;
  const auto& checked = e.spec.checked();
  const Traffic& t = e.traffic;
  nlohmann::json clamped = nlohmann::json::array();
  for (const auto& read : e.compiled.facts.clamped) {
    clamped.push_back({{"tensor", read.tensor},
                       {"dimension", read.dimension},
                       {"line", read.line},
                       {"column", read.column}});
  }
  nlohmann::json result{{"spec", spec_json(e.spec)},
                        {"target", e.target.name},
                        {"facts", e.compiled.facts.print()},
                        {"clamped", clamped},
                        {"plan", plan.print()},
                        {"why", e.compiled.choice.why},
                        {"compile_takes",
                         {{"plan", e.origin.plan},
                          {"source", plan_source_name(e.origin.source)},
                          {"why", e.origin.why},
                          {"plans", table_json(e.taken_plans)}}},
                        {"plans", table_json(e.own_plans)},
                        {"size", size_json(e.size)},
                        {"flops", t.flops},
                        {"exps", t.exps},
                        {"bytes",
                         {{"standard", t.standard_bytes},
                          {"standard_by_formula", t.standard_bytes_by_formula},
                          {"fused", t.fused_bytes},
                          {"fused_by_formula", t.fused_bytes_by_formula},
                          {"hbm", t.hbm_bytes},
                          {"least", t.least_bytes}}}};
  if (e.tiles) result.update(tiles_json(*e.tiles, checked.file));
  if (!e.backward_plan.empty())
    result["backward"] = {{"plan", e.backward_plan}, {"workspace_bytes", e.backward_workspace}};
  result["products"] = products(e);
  if (e.target.is_host()) return result;
  result["shared_memory"] = most_shared_memory(e.compiled.source->program);
  result["register_estimate"] = register_estimate(plan, checked);
  result["ctas_per_sm"] = ctas_that_fit(plan, checked, e.target);
  result["bound"] = bound_name(t.bound);
  result["bound_ms"] = {{"tensor", t.tensor_ms}, {"exp2", t.exp2_ms}, {"memory", t.memory_ms}};
  result["predicted_ms"] = e.predicted_ms;
  result["predicted_dense_ms"] = e.predicted_dense_ms;
  result["share_of_tiles"] = e.share ? nlohmann::json(*e.share) : nullptr;
  if (e.built) {
    result["built"] = {{"registers", e.built->registers},
                       {"spill_bytes", e.built->spill_bytes},
                       {"cubin_bytes", e.built->cubin_bytes},
                       {"nvrtc_ms", e.built->milliseconds}};
  }
  return result;
}

int run_explain(const ExplainArguments& arguments) {
  const Spec spec = arguments.spec.load(arguments.spec_path);
  for (const auto& warning : spec.warnings()) report_diagnostic(warning);
  if (arguments.deterministic && !arguments.backward)
    throw ArgumentError("--deterministic is about gradients: add --backward, or leave it out");
  if (!arguments.tiles && !(arguments.map.empty() && arguments.params.empty() && arguments.tensors.empty()))
    throw ArgumentError("--map, --set and --tensor say something about tiles: add --tiles");
  arguments.json.check_apart_from({arguments.spec_path}, "SPEC");
  arguments.json.check_apart_from({arguments.map}, "--map");
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
  command->footer(kFooter);
  command->add_option("SPEC", arguments->spec_path, "Spec file (.fa), or - for standard input")
      ->type_name("FILE")
      ->required();
  arguments->spec.declare(*command);
  arguments->size.declare(*command);
  command->add_option("--gpu", arguments->gpu, "Target: " + target_names())
      ->type_name("NAME")
      ->check(suggested(target_words(true)))
      ->group("Device");
  command->add_option("--plan", arguments->plan, "Force a plan or parts of one: \"tile_q=128 tile_kv=64\"")
      ->type_name("PLAN")
      ->group("Device");
  command->add_flag("--build", arguments->build, "Build it, for the registers it really takes")
      ->group("Device");
  command->add_flag("--backward", arguments->backward,
                    "The plan and the workspace of the backward pass, too");
  command->add_flag("--deterministic", arguments->deterministic,
                    "With --backward: of the one whose gradients have the same bits in every run");
  command
      ->add_flag("--tiles", arguments->tiles,
                 "Say which tiles the mask leaves, what proves it, and draw them")
      ->group("Tiles");
  command->add_option("--map", arguments->map, "With --tiles: write the picture here, as SVG")
      ->type_name("FILE.svg")
      ->check(file_name())
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
