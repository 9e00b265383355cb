#include "compiler/emit/cuda/baseline/source.h"

#include <fmt/format.h>

#include "compiler/emit/cuda/exact.h"
#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/passes/baseline.h"
#include "compiler/emit/cuda/unit/unit.h"
#include "compiler/schedule/baseline/baseline.h"
#include "templates/baseline_params.h"

namespace fa {

Source emit_baseline_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                            const HookCases* cases, const Plan& plan, const Target& target) {
  Program program;
  std::string entries;
  for (const PrintedPass& pass : print_baseline_passes(spec, plan)) {
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
{config}
}}  // namespace fa
{entries}static_assert(sizeof(fa::BaselineParams) == {params_bytes});
)",
      fmt::arg("name", spec.name), fmt::arg("plan", plan.print()),
      fmt::arg("folder", family_name(plan.family)), fmt::arg("schedule", impl_name(impl_of(plan.loop_order))),
      fmt::arg("exact", print_exact_functions(modules, spec.dtype)),
      fmt::arg("hooks",
               cases == nullptr ? print_hooks(spec, hooks, facts).text : print_cases(spec, hooks, *cases)),
      fmt::arg("config", print_config(spec, plan, target)), fmt::arg("entries", entries),
      fmt::arg("params_bytes", sizeof(BaselineParams)));
  return Source{.text = std::move(text),
                .headers = headers_of(plan.family, UnitKind::baseline),
                .arch = arch_of(plan.family, target),
                .program = std::move(program)};
}

}  // namespace fa
