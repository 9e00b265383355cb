// Plans of the baselines: attention as it was computed before it was fused, for comparisons (docs/baselines.md). No model
// prefers them, no tuner tries them; a plan's text names them by their loop order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/plan.h"
#include "fa/options.h"

namespace fa {

/// The loop order that a plan's text names; q_outer where it names none. Throws ArgumentError where it names two.
LoopOrder loop_order_of(std::string_view text);

std::string_view impl_name(Impl impl);  // "facet", "standard"
std::optional<Impl> impl_named(std::string_view name);
std::vector<std::string> impl_names();  // of all, Facet's own first
Impl impl_of(LoopOrder order);          // whose plans have it

/// A plan's text with the implementation in it; "" where neither says anything. Throws ArgumentError where the text names
/// another one.
std::string plan_of_impl(Impl impl, std::string_view text);

/// Throws ArgumentError where the order is a baseline's, all of which have a forward pass alone.
void refuse_backward(LoopOrder order);

/// The baseline's plan with what `text` says of it (parse_plan's form); the rest is the largest tile that fits a GPU, and on
/// the host that of the fused kernel. Throws
/// SpecError where the target cannot run the spec, ArgumentError where it has no kernels of that order, or the plan is
/// malformed or illegal.
Choice choose_baseline(LoopOrder order, const CheckedSpec& spec, const Facts& facts, const Target& target,
                       std::string_view text);

/// Empty where the plan, a baseline's, can run; else the reason, naming the limit and the number. Its family runs the
/// spec on the target.
std::string why_illegal_baseline(const Plan& plan, const CheckedSpec& spec, const Target& target);

/// Keys that pass 3 of standard attention multiplies at a time: 128 bytes of a row of P, of which tile_kv has a whole
/// number.
int keys_of_stage(DType dtype);
/// Dynamic bytes of shared memory of a CTA of pass 1 and of pass 3 of standard attention.
int scores_shared_memory(const Plan& plan, const CheckedSpec& spec);
int outputs_shared_memory(const Plan& plan, const CheckedSpec& spec);

}  // namespace fa
