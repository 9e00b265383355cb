#include "compiler/emit/cuda/backward/source.h"

#include <fmt/format.h>

#include <optional>

#include "compiler/analysis/raw_score.h"
#include "compiler/emit/cuda/backward/adjoints.h"
#include "compiler/emit/cuda/backward/derivatives.h"
#include "compiler/emit/cuda/classes.h"
#include "compiler/emit/cuda/exact.h"
#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/passes/backward.h"
#include "compiler/emit/cuda/unit/unit.h"
#include "templates/backward_params.h"
#include "templates/common/dependent_launch.h"

namespace fa {
namespace {

/// In the order they run in. `overlap`: each may start before the one before has ended; each waits for that end, so that what
/// any pass wrote is there for all that follow. A walk's tile map is filled before it, by tiles of its size.
std::vector<PrintedPass> print_backward_passes(const CheckedSpec& spec, const Facts& facts,
                                               const TileClasses& classes, const ScoreClass& score_class,
                                               const BackwardPlan& plan, const BackwardNeeds& needs,
                                               std::vector<ExactGradient> exact_gradients, bool overlap) {
  std::vector<PrintedPass> passes;
  const auto add_map = [&](const TilePass& tiles, std::string_view of) {
    if (classes.map) passes.push_back(print_backward_map_pass(classes, score_class, tiles, of));
  };
  add_map(plan.keys, "keys");
  passes.push_back(print_row_stats_pass(spec, needs, overlap));  // while the map is filled
  for (PrintedPass& pass : print_keys_passes(spec, facts, plan, needs)) passes.push_back(std::move(pass));
  if (plan.dq_by_sums) {
    passes.push_back(print_query_sums_pass(spec));
  } else {
    add_map(plan.queries, "queries");
    passes.push_back(print_queries_pass(spec, facts, plan));
  }
  if (!exact_gradients.empty()) passes.push_back(print_exact_sums_pass(std::move(exact_gradients)));
  for (std::size_t i = 1; i < passes.size(); ++i) passes[i].pass.overlaps = overlap;
  return passes;
}

std::string print_config(std::string_view name, const TilePass& tiles, bool delays_dq,
                         const CheckedSpec& spec, const Target& target) {
  return fmt::format(R"(struct {} {{
  using Element = {};
  static constexpr int kHeadDim = {};
  static constexpr int kHeadDimV = {};
  static constexpr int kTileQ = {};
  static constexpr int kTileKv = {};
  static constexpr int kWarps = {};
  static constexpr int kColumnWarps = {};
  static constexpr int kQueryWarps = {};
  static constexpr int kParts = {};
  static constexpr int kStages = {};
  static constexpr bool kDelaysQ = {};
  static constexpr bool kDropout = {};
}};
)",
                     name, element_type(spec.dtype, target), spec.head_dim, spec.head_dim_v, tiles.tile_q,
                     tiles.tile_kv, tiles.warps, tiles.column_warps, tiles.query_warps, tiles.parts,
                     tiles.stages, delays_dq, spec.has_dropout);
}

/// `module`: what its function is made in.
std::optional<ScoreDerivative> score_derivative(const Derived& score, llvm::Module& module) {
  if (score.function != nullptr)
    return ScoreDerivative{.function = of_raw_score(*score.function, module, "d_raw_score")};
  if (score.number() == 1.0) return std::nullopt;
  return ScoreDerivative{.number = *score.number()};
}

}  // namespace

Source emit_backward_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                            const TileClasses& classes, const ScoreClass& score_class, const HookCases* cases,
                            const Derivatives& derivatives, const BackwardPlan& plan, const Target& target) {
  const PrintedDerivatives printed = print_derivatives(spec, hooks, derivatives, plan.deterministic);
  Program program;
  std::string includes, entries;
  for (const PrintedPass& pass : print_backward_passes(
           spec, facts, classes, score_class, plan, needs_of(spec, derivatives, facts, plan.deterministic),
           plan.deterministic ? exact_gradients(derivatives) : std::vector<ExactGradient>(),
           target.compute_capability >= FA_OVERLAPS_FROM)) {
    program.push_back(pass.pass);
    const std::string include = pass.include.empty() ? "" : fmt::format("#include \"{}\"\n", pass.include);
    if (includes.find(include) == std::string::npos) includes += include;
    entries += "\n" + pass.text;
  }
  const std::shared_ptr<llvm::Module> of_derivative = make_module("raw_score", hooks.module);
  const std::optional<ScoreDerivative> derivative =
      score_derivative(derivatives.score_mod.score, *of_derivative);
  const ScoreDerivative* const d_score = derivative ? &*derivative : nullptr;
  std::vector<IrModule> modules = {hooks.module,       facts.logits.module, classes.module,
                                   score_class.module, derivatives.module,  printed.calls,
                                   of_derivative};
  add_modules(cases, modules);
  std::string text = fmt::format(
      R"(// Facet: attention "{name}", backward, {plan}
{order}#include "{folder}/backward.cuh"
{includes}
namespace fa {{

{exact}{hooks}
{derivatives}
{classes}
{keys}
{queries}
}}  // namespace fa
{entries}static_assert(sizeof(fa::BackwardParams) == {params_bytes});
)",
      fmt::arg("name", spec.name), fmt::arg("plan", plan.print()),
      fmt::arg("order", order_of_q_tiles(facts).define + order_of_kv_tiles(facts).define),
      fmt::arg("folder", family_name(plan.family)), fmt::arg("includes", includes),
      fmt::arg("exact", print_exact_functions(modules, spec.dtype)),
      fmt::arg("hooks",
               cases == nullptr
                   ? print_hooks(spec, hooks, facts, {}, score_class.function != nullptr, d_score).text
                   : print_cases(spec, hooks, *cases, d_score)),
      fmt::arg("derivatives", printed.text),
      fmt::arg("classes", print_classes(hooks, classes, score_class, spec.dtype)),
      fmt::arg("keys", print_config("KeysConfig", plan.keys, plan.delays_dq, spec, target)),
      fmt::arg("queries", print_config("QueriesConfig", plan.queries, false, spec, target)),
      fmt::arg("entries", entries), fmt::arg("params_bytes", sizeof(BackwardParams)));
  return Source{.text = std::move(text),
                .headers = headers_of(plan.family, UnitKind::backward),
                .arch = arch_of(plan.family, target),
                .program = std::move(program)};
}

}  // namespace fa
