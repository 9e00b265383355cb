// The front end: from a checked spec to the source of its kernel. Pure: no GPU, no clock, no environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/derive/derive.h"
#include "compiler/emit/cuda/source.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/schedule/plan.h"

namespace fa {

/// Every stage's value for one spec, target and plan.
struct Compiled {
  HookIr hooks;
  Facts facts;
  std::optional<Derivatives> derivatives;  // where the spec marks something `grad`
  TileClasses classes;
  Choice choice;
  std::optional<HookCases> cases;  // GPU targets, where a condition of the head chooses between hooks
  std::optional<Source>
      source;  // GPU targets; the host's code generator takes `hooks` and `choice.plan` itself
};

/// Reads as the table of contents. `forced_plan` (parse_plan's form, may be empty) overrides the choice.
Compiled compile_front_end(const CheckedSpec& spec, const Target& target, std::string_view forced_plan = {});

}  // namespace fa
