// The table of contents: one stage a line, each a verb from one value to the next.
#include "compiler/compile.h"

#include <algorithm>

#include "compiler/emit/cuda/backward/adjoints.h"
#include "compiler/emit/cuda/backward/source.h"
#include "compiler/emit/cuda/baseline/source.h"
#include "compiler/emit/host/backward/backward.h"
#include "compiler/emit/host/baseline/baseline.h"
#include "compiler/ir/head_case.h"
#include "compiler/ir/import/import.h"
#include "compiler/schedule/baseline/baseline.h"
#include "fa/error.h"

namespace fa {
namespace {

HooksOfCase of_case(const CheckedSpec& spec) {
  HooksOfCase result;
  result.hooks = lower(spec);
  result.facts = analyse(spec, result.hooks, WithSlopes::left_out);
  return result;
}

/// Hooks for either value of a condition of the head; nothing where there is none.
std::optional<HookCases> divide_by_head(const CheckedSpec& spec, const HookIr& hooks) {
  const std::optional<HeadCase> found = find_head_case(spec);
  if (!found) return {};
  return HookCases{.condition = lower_condition(spec, hooks, "head_case", *found->condition),
                   .holds = of_case(found->holds),
                   .fails = of_case(found->fails)};
}

/// The choose stage: the plan for large calls, then which calls should have others.
PlanTable choose_table(const CheckedSpec& spec, const Facts& facts, const Target& target,
                       std::string_view forced_plan, std::span<const KnownPlan> known) {
  if (!forced_plan.empty()) return single_plan(choose_forced(spec, facts, target, forced_plan));
  return refine(choose_plans(spec, facts, target, choose(spec, facts, target)), known);
}

}  // namespace

Compiled compile_front_end(const CheckedSpec& written, const Target& target, std::string_view forced_plan,
                           Passes passes, std::span<const KnownPlan> known) {
  Compiled compiled;
  CheckedSpec spec = import_hooks(written);
  spec.score_from = spec.mask_from = {};  // expressions now: every later stage lowers those
  compiled.hooks = lower(spec);
  compiled.facts = analyse(spec, compiled.hooks);
  if (compiled.facts.has_mask && !compiled.facts.mask_is_always_true)
    compiled.classes = derive_tile_classes(compiled.hooks);
  compiled.plans = choose_table(spec, compiled.facts, target, forced_plan, known);
  compiled.choice = compiled.plans.back().choice;
  if (passes == Passes::forward_and_backward) {
    refuse_backward(compiled.choice.plan.loop_order);
    compiled.derivatives = derive(spec, compiled.hooks);
  }
  if (target.is_host()) return compiled;  // emit_for_host goes on
  compiled.cases = divide_by_head(spec, compiled.hooks);
  if (!compiled.cases)
    compiled.score_class = derive_score_class(compiled.facts, compiled.classes, spec.scale);
  compiled.source = emit_for_gpu(spec, compiled, compiled.choice.plan, target);
  return compiled;
}

Source emit_for_gpu(const CheckedSpec& spec, const Compiled& compiled, const Plan& plan,
                    const Target& target) {
  const HookCases* const cases = compiled.cases ? &*compiled.cases : nullptr;
  if (plan.loop_order == LoopOrder::kv_outer) {
    // Its rows' maxima cannot count multiples of a slope (templates/common/flash1/tiles.cuh).
    const Facts facts = analyse(spec, compiled.hooks, WithSlopes::left_out);
    return emit_baseline_source(spec, compiled.hooks, facts, cases, plan, target);
  }
  if (plan.is_baseline())
    return emit_baseline_source(spec, compiled.hooks, compiled.facts, cases, plan, target);
  return emit_source(spec, compiled.hooks, compiled.facts, compiled.classes, compiled.score_class, cases,
                     plan, target);
}

TableSources take_sources(const CheckedSpec& spec, Compiled& compiled, const Target& target) {
  std::vector<Plan> plans{compiled.choice.plan};
  TableSources result;
  result.sources.push_back(std::move(compiled.source.value()));
  compiled.source.reset();
  for (const PlanOfBucket& line : compiled.plans) {
    const Plan& plan = line.choice.plan;
    const auto known = std::ranges::find(plans, plan);
    result.of_line.push_back(static_cast<std::size_t>(known - plans.begin()));
    if (known != plans.end()) continue;
    plans.push_back(plan);
    result.sources.push_back(emit_for_gpu(spec, compiled, plan, target));
  }
  return result;
}

HostIr emit_for_host(const CheckedSpec& spec, const Compiled& compiled, const Target& target) {
  if (target.cpu == nullptr) throw InternalError("a host kernel for a target that does not say its CPU");
  const Plan& plan = compiled.choice.plan;
  if (plan.is_baseline()) return emit_host_baseline(spec, compiled.hooks, compiled.facts, plan, *target.cpu);
  return emit_host(spec, compiled.hooks, compiled.facts, compiled.classes, plan, *target.cpu);
}

HostIr emit_backward_for_host(const CheckedSpec& spec, const Compiled& compiled, const Target& target) {
  if (target.cpu == nullptr) throw InternalError("a host kernel for a target that does not say its CPU");
  if (!compiled.derivatives) throw InternalError("a backward pass without derivatives");
  return emit_host_backward(spec, compiled.hooks, compiled.facts, compiled.classes, *compiled.derivatives,
                            compiled.choice.plan, *target.cpu);
}

BackwardPlan plan_backward(const CheckedSpec& spec, const Compiled& compiled, const Target& target,
                           bool deterministic, std::string_view forced_plan) {
  if (!compiled.derivatives) throw InternalError("a backward pass without derivatives");
  return choose_backward_forced(
      spec, target, needs_of(spec, *compiled.derivatives, compiled.facts, deterministic), forced_plan);
}

Source emit_backward_for_gpu(const CheckedSpec& spec, const Compiled& compiled, const BackwardPlan& plan,
                             const Target& target) {
  if (!compiled.derivatives) throw InternalError("a backward pass without derivatives");
  return emit_backward_source(spec, compiled.hooks, compiled.facts, compiled.classes, compiled.score_class,
                              compiled.cases ? &*compiled.cases : nullptr, *compiled.derivatives, plan,
                              target);
}

std::string Compiled::print_ir() const {
  IrModule condition;
  if (cases) condition = cases->condition.module;
  const IrModule all =
      merge_modules({hooks.module, facts.logits.module, classes.module, condition, score_class.module});
  return print_module(all.get());
}

}  // namespace fa
