#include "compiler/emit/cuda/source.h"

#include <fmt/format.h>

#include "compiler/emit/cuda/classes.h"
#include "compiler/emit/cuda/exact.h"
#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/passes/passes.h"
#include "compiler/emit/cuda/unit/unit.h"
#include "compiler/schedule/shape.h"
#include "templates/common/dependent_launch.h"
#include "templates/params.h"

namespace fa {
namespace {

/// In the order they run in. What fills a tile map waits for the caller's kernel before it, and attention for the map: both may
/// start before those have ended.
std::vector<PrintedPass> print_passes(const Facts& facts, const TileClasses& classes,
                                      const ScoreClass& score_class, const Plan& plan, const Target& target,
                                      int shared_memory) {
  std::vector<PrintedPass> passes;
  if (classes.map) passes.push_back(print_tile_map_pass(classes, score_class, plan));
  passes.push_back(print_forward_pass(plan, facts, shared_memory));
  const bool overlap = classes.map && target.compute_capability >= FA_OVERLAPS_FROM;
  for (PrintedPass& pass : passes) pass.pass.overlaps = overlap;
  return passes;
}

/// For a table's tiles (templates/common/score/staged_reads.cuh): as many as for K where that has two; else a second one
/// where a CTA has an SM to itself, but in f32, whose products take so long that no copy is waited for (an H200, d256: 1.01).
int buffers_of_elements(const Plan& plan, DType dtype) {
  if (plan.stages == 2) return plan.stages;
  return plan.min_ctas == 1 && dtype != DType::f32 ? 2 : 1;
}

}  // namespace

Source emit_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                   const TileClasses& classes, const ScoreClass& score_class, const HookCases* cases,
                   const Plan& plan, const Target& target) {
  if (plan.family == Family::host) throw InternalError("the host has no CUDA template");
  if (plan.is_baseline()) throw InternalError("emit_baseline_source emits the baselines");
  const StagingRoom room = {.tile_q = plan.tile_q,
                            .tile_kv = plan.tile_kv,
                            .bytes = spare_shared_memory_bytes(plan, spec, target),
                            .has_async_copies = traits_of(plan.family).has_async_copies,
                            .buffers = buffers_of_elements(plan, spec.dtype)};
  const PrintedHooks printed = cases == nullptr
                                   ? print_hooks(spec, hooks, facts, room, score_class.function != nullptr)
                                   : PrintedHooks{.text = print_cases(spec, hooks, *cases)};
  const int shared_memory = shared_memory_bytes(plan, spec, printed.staged_bytes);
  Program program;
  std::string includes, entries;
  for (const PrintedPass& pass : print_passes(facts, classes, score_class, plan, target, shared_memory)) {
    program.push_back(pass.pass);
    if (!pass.include.empty()) includes += fmt::format("#include \"{}\"\n", pass.include);
    entries += "\n" + pass.text;
  }
  std::vector<IrModule> modules = {hooks.module, facts.logits.module, classes.module, score_class.module};
  add_modules(cases, modules);
  std::string text = fmt::format(
      R"(// Facet: attention "{name}", forward, {plan}
{order}#include "{folder}/forward.cuh"
{includes}
namespace fa {{

{exact}{hooks}
{classes}
{config}
}}  // namespace fa
{entries}static_assert(sizeof(fa::ForwardParams) == {params_bytes});
)",
      fmt::arg("name", spec.name), fmt::arg("plan", plan.print()),
      fmt::arg("order", order_of_q_tiles(facts).define), fmt::arg("folder", family_name(plan.family)),
      fmt::arg("exact", print_exact_functions(modules, spec.dtype)), fmt::arg("hooks", printed.text),
      fmt::arg("classes", print_classes(hooks, classes, score_class, spec.dtype)),
      fmt::arg("includes", includes), fmt::arg("entries", entries),
      fmt::arg("config", print_config(spec, plan, target)), fmt::arg("params_bytes", sizeof(ForwardParams)));
  return Source{.text = std::move(text),
                .headers = headers_of(plan.family, UnitKind::forward),
                .arch = arch_of(plan.family, target),
                .program = std::move(program)};
}

}  // namespace fa
