// One field of a plan takes one value after the other: --sweep of `facet bench`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/plan.h"

namespace fa::tools {

struct Sweep {
  std::string field;        // of plan_fields()
  std::vector<int> values;  // each once, in the order in which they were named; empty: every legal one
};

/// Reads "tile_kv" or "tile_kv=32,64,128". Throws ArgumentError that lists the fields where there is none of that name, and
/// says which value is no number or stands twice.
Sweep parse_sweep(std::string_view text);

/// A value of the field, and the plan that has it.
struct SweptPlan {
  int value = 0;
  std::string plan;   // printed whole; empty where no plan can run
  std::string error;  // why none can, naming the limit and the number
};

/// Throws ArgumentError where `forced`, the text of a plan that is asked for, sets the field.
void check_apart_from_plan(const Sweep& sweep, const std::string& forced);

/// The plans of a sweep around `base`, the plan that a call takes without one, where `forced` is asked for. The other fields are
/// those of `base`, but for min_ctas, which the model picks anew where `forced` does not say it. Where that cannot run, the model completes
/// the value and the other side of the tile, or else the value alone, with `forced`, as it does for --plan, by the same family of kernels.
/// Without values of its own a sweep has those of the legal plans, in increasing order, and no errors. Throws ArgumentError where plans
/// of the target have no such field.
std::vector<SweptPlan> plans_of_sweep(const Sweep& sweep, const Plan& base, std::string_view forced,
                                      const CheckedSpec& spec, const Facts& facts, const Target& target);

}  // namespace fa::tools
