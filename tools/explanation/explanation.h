// What the compiler knows about a spec and decides for it: what `facet explain` says, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/schedule/traffic.h"
#include "fa/spec.h"
#include "tools/command/targets.h"
#include "tools/plans/plan_table.h"
#include "tools/tiles/tiles.h"
#include "tools/tune/origin.h"

namespace fa::tools {

struct Explanation {
  const Spec& spec;
  const Target& target;
  ProblemSize size;
  Compiled compiled;
  PlanOrigin origin;  // of the plan that `compile` takes
  Traffic traffic;
  double predicted_ms = 0;             // 0 on the host and of a baseline
  double predicted_dense_ms = 0;       // were no tile left out
  std::optional<double> share;         // of tiles that the mask leaves, where they are counted
  std::vector<ShownPlan> own_plans;    // the compiler's own choice, or what --plan asks for
  std::vector<ShownPlan> taken_plans;  // what `compile` takes
  std::optional<BuiltKernel> built;
  std::optional<TileReport> tiles;
  bool reads_files = false;            // and not only the example tensors
  std::size_t workspace = 0;           // bytes, of a baseline
  std::string backward_plan;           // empty: not asked for
  std::size_t backward_workspace = 0;  // bytes, on a GPU
};

/// How the two products are multiplied; on the host by this machine's CPU.
std::string describe_products(const Explanation& e);

void print_explanation(const Explanation& e);
nlohmann::json to_json(const Explanation& e);

}  // namespace fa::tools
