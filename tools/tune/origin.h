// Which plan `compile` would take for a spec and a target, and where that comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/schedule/buckets/plan_table.h"
#include "compiler/target/target.h"
#include "fa/options.h"
#include "fa/spec.h"

namespace fa::tools {

enum class PlanSource : std::uint8_t { compiler, measured, predicted, shipped, asked_for };

/// "compiler", "measured", "predicted", "shipped" (measured or predicted by whoever made the table), "asked for"
std::string_view plan_source_name(PlanSource source);

struct PlanOrigin {
  PlanSource source = PlanSource::compiler;
  std::string plan;  // printed; of several the one for large calls
  std::string why;   // since when it is known, or why nothing remembered is taken
  PlanTable table;   // all plans
};

/// `own`: the compiler's own table, or that of the plan that `options.plan` asks for. Reads the plan store and
/// compiles nothing. A GPU that is not here counts as any of its name: what was timed on one of them, then what ships,
/// then what was predicted.
PlanOrigin origin_of_plan(const Spec& spec, const Target& target, const PlanTable& own,
                          const Options& options);

}  // namespace fa::tools
