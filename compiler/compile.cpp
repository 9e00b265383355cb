// The table of contents: one stage a line, each a verb from one value to the next.
#include "compiler/compile.h"

#include "compiler/analysis/score_class.h"
#include "compiler/emit/cuda/source.h"
#include "compiler/ir/head_case.h"
#include "compiler/ir/import/import.h"
#include "compiler/spec/check/gradient.h"

namespace fa {
namespace {

HooksOfCase of_case(const CheckedSpec& spec) {
  HooksOfCase result;
  result.hooks = lower(spec);
  result.facts = analyse(spec, result.hooks, WithSlopes::left_out);
  return result;
}

/// Hooks for either value of a condition of the head; nothing where there is none.
std::optional<HookCases> divide_by_head(const CheckedSpec& spec, HookIr& hooks) {
  const std::optional<HeadCase> found = find_head_case(spec);
  if (!found) return {};
  HookCases cases;
  cases.condition = lower_condition(spec, hooks, "head_case", *found->condition);
  cases.holds = of_case(found->holds);
  cases.fails = of_case(found->fails);
  return cases;
}

}  // namespace

Compiled compile_front_end(const CheckedSpec& written, const Target& target, std::string_view forced_plan) {
  Compiled compiled;
  CheckedSpec spec = import_hooks(written);
  spec.score_from = spec.mask_from = {};  // expressions now: every later stage lowers those
  compiled.hooks = lower(spec);
  compiled.facts = analyse(spec, compiled.hooks);
  if (has_grad(spec)) compiled.derivatives = derive(spec);
  if (compiled.facts.has_mask && !compiled.facts.mask_is_always_true)
    compiled.classes = derive_tile_classes(compiled.hooks);
  compiled.choice = forced_plan.empty() ? choose(spec, compiled.facts, target)
                                        : choose_forced(spec, compiled.facts, target, forced_plan);
  if (target.family == Family::host) return compiled;  // emit_host needs to know the CPU: runtime/ calls it
  compiled.cases = divide_by_head(spec, compiled.hooks);
  if (!compiled.cases)
    compiled.classes.score = derive_score_class(compiled.hooks, compiled.facts, compiled.classes, spec.scale);
  compiled.source = emit_source(spec, compiled.hooks, compiled.facts, compiled.classes,
                                compiled.cases ? &*compiled.cases : nullptr, compiled.choice.plan, target);
  return compiled;
}

}  // namespace fa
