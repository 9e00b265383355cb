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

/// The plans of a sweep. `base` is the plan that the call has without it, `forced` the text of one that was asked for. Other
/// fields stay as in `base`; but the model chooses min_ctas for each plan, unless `forced` says it. Where such a plan cannot run,
/// the model completes a text, as it does for --plan, by the same family of kernels: first the value and `base`'s other side of
/// the tile with `forced`, then the value with `forced` alone. A sweep without values has those that legal plans have, in
/// increasing order, and no errors. Throws ArgumentError where plans of the target have no such field.
std::vector<SweptPlan> plans_of_sweep(const Sweep& sweep, const Plan& base, std::string_view forced,
                                      const CheckedSpec& spec, const Facts& facts, const Target& target);

}  // namespace fa::tools
