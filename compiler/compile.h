// The front end: from a checked spec to the source of its kernel. Pure: no GPU, no clock, no environment.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/score_class.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/derive/derive.h"
#include "compiler/emit/cuda/source.h"
#include "compiler/emit/host/host.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/schedule/backward/backward_plan.h"
#include "compiler/schedule/buckets/plan_table.h"
#include "compiler/schedule/plan.h"

namespace fa {

/// What a kernel is compiled for.
enum class Passes : std::uint8_t { forward, forward_and_backward };

/// Every stage's value for one spec, target and plan.
struct Compiled {
  HookIr hooks;
  Facts facts;
  TileClasses classes;
  PlanTable plans;
  Choice choice;                   // of the last line of `plans`: the only plan where there is one
  ScoreClass score_class;          // GPU targets, where no condition of the head chooses
  std::optional<HookCases> cases;  // GPU targets, where a condition of the head chooses between hooks
  std::optional<Source> source;    // GPU targets, with the plan of `choice`; the host's is emit_for_host
  std::optional<Derivatives> derivatives;  // where a backward pass is asked for

  /// The functions of all stages as LLVM IR, those of `cases` apart.
  std::string print_ir() const;
};

/// Reads as the table of contents. `forced_plan` (parse_plan's form, may be empty) overrides the choice and is for
/// every call; `known` refines the table of plans.
Compiled compile_front_end(const CheckedSpec& spec, const Target& target, std::string_view forced_plan = {},
                           Passes passes = Passes::forward, std::span<const KnownPlan> known = {});

/// The forward kernel on a GPU with another of its plans, whose tiles its hooks are then emitted for.
Source emit_for_gpu(const CheckedSpec& spec, const Compiled& compiled, const Plan& plan,
                    const Target& target);

/// The sources of all lines of `plans`; lines with the same plan share one.
struct TableSources {
  std::vector<Source> sources;       // the first is that of the last line
  std::vector<std::size_t> of_line;  // which of them
};
/// Takes `compiled.source`, which must be there, and emits the others.
TableSources take_sources(const CheckedSpec& spec, Compiled& compiled, const Target& target);

/// The last stage on the host. It is apart from the others because a kernel from the cache does not need it.
/// `target.cpu` must be known.
HostIr emit_for_host(const CheckedSpec& spec, const Compiled& compiled, const Target& target);
/// The backward pass, whose derivatives `compiled` must have.
HostIr emit_backward_for_host(const CheckedSpec& spec, const Compiled& compiled, const Target& target);

/// The schedule of a GPU's backward pass, whose derivatives `compiled` must have.
/// `forced_plan` (parse_backward_plan's form, may be empty) overrides the choice. Throws ArgumentError where it is bad.
BackwardPlan plan_backward(const CheckedSpec& spec, const Compiled& compiled, const Target& target,
                           bool deterministic = false, std::string_view forced_plan = {});
/// The backward pass on a GPU, a source of its own.
Source emit_backward_for_gpu(const CheckedSpec& spec, const Compiled& compiled, const BackwardPlan& plan,
                             const Target& target);

}  // namespace fa
