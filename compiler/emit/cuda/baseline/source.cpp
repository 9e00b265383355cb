#include "compiler/emit/cuda/baseline/source.h"

#include <fmt/format.h>

#include "compiler/emit/cuda/exact.h"
#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/passes/baseline.h"
#include "compiler/emit/cuda/unit/unit.h"
#include "templates/baseline_params.h"

namespace fa {

Source emit_baseline_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                            const HookCases* cases, const Plan& plan, const Target& target) {
  Program program;
  std::string entries;
  for (const PrintedPass& pass : print_standard_passes(spec, plan)) {
    program.push_back(pass.pass);
    entries += "\n" + pass.text;
  }
  std::vector<IrModule> modules = {hooks.module, facts.logits.module};
  add_modules(cases, modules);
  std::string text = fmt::format(
      R"(// Facet: attention "{name}", forward, {plan}
#include "{folder}/{schedule}.cuh"

namespace fa {{

{exact}{hooks}
struct Config {{
  using Element = {element};
  static constexpr int kHeadDim = {head_dim};
  static constexpr int kHeadDimV = {head_dim_v};
  static constexpr int kTileQ = {tile_q};
  static constexpr int kTileKv = {tile_kv};
  static constexpr int kWarps = {warps};
  static constexpr int kStages = {stages};
  static constexpr bool kQInRegisters = false;
  static constexpr bool kDropout = {dropout};
}};

}}  // namespace fa
{entries}static_assert(sizeof(fa::BaselineParams) == {params_bytes});
)",
      fmt::arg("name", spec.name), fmt::arg("plan", plan.print()),
      fmt::arg("folder", family_name(plan.family)), fmt::arg("schedule", loop_order_name(plan.loop_order)),
      fmt::arg("exact", print_exact_functions(modules, spec.dtype)),
      fmt::arg("hooks",
               cases == nullptr ? print_hooks(spec, hooks, facts).text : print_cases(spec, hooks, *cases)),
      fmt::arg("element", element_type(spec.dtype, target)), fmt::arg("head_dim", spec.head_dim),
      fmt::arg("head_dim_v", spec.head_dim_v), fmt::arg("tile_q", plan.tile_q),
      fmt::arg("tile_kv", plan.tile_kv), fmt::arg("warps", plan.warps), fmt::arg("stages", plan.stages),
      fmt::arg("dropout", spec.has_dropout), fmt::arg("entries", entries),
      fmt::arg("params_bytes", sizeof(BaselineParams)));
  return Source{.text = std::move(text),
                .headers = headers_of(plan.family, UnitKind::baseline),
                .arch = arch_of(plan.family, target),
                .program = std::move(program)};
}

}  // namespace fa
