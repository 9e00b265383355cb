// The table of contents: one stage a line, each a verb from one value to the next.
#include "compiler/compile.h"

#include "compiler/analysis/score_class.h"
#include "compiler/emit/source.h"

namespace fa {

Compiled compile_front_end(const CheckedSpec& spec, const Target& target, std::string_view forced_plan) {
  Compiled compiled;
  compiled.hooks = lower(spec);
  compiled.facts = analyse(spec, compiled.hooks);
  if (compiled.facts.has_mask && !compiled.facts.mask_is_always_true)
    compiled.classes = derive_tile_classes(compiled.hooks);
  compiled.choice = forced_plan.empty() ? choose(spec, compiled.facts, target)
                                        : choose_forced(spec, compiled.facts, target, forced_plan);
  if (target.family == Family::host) return compiled;  // emit_host needs to know the CPU: runtime/ calls it
  compiled.classes.score = derive_score_class(compiled.hooks, compiled.facts, compiled.classes, spec.scale);
  compiled.source =
      emit_source(spec, compiled.hooks, compiled.facts, compiled.classes, compiled.choice.plan, target);
  return compiled;
}

}  // namespace fa
