// An explanation as JSON.
#include <nlohmann/json.hpp>

#include "compiler/schedule/cost.h"
#include "compiler/schedule/support.h"
#include "tools/explanation/explanation.h"
#include "tools/problem/describe.h"

namespace fa::tools {

nlohmann::json to_json(const Explanation& e) {
  const Plan& plan = e.compiled.choice.plan;
  const auto& checked = e.spec.checked();
  const Traffic& t = e.traffic;
  nlohmann::json clamped = nlohmann::json::array();
  for (const auto& read : e.compiled.facts.clamped) {
    clamped.push_back({{"tensor", read.tensor},
                       {"dimension", read.dimension},
                       {"line", read.line},
                       {"column", read.column}});
  }
  nlohmann::json result{{"spec", spec_json(e.spec)},
                        {"target", e.target.name},
                        {"facts", e.compiled.facts.print()},
                        {"clamped", clamped},
                        {"plan", plan.print()},
                        {"why", e.compiled.choice.why},
                        {"compile_takes",
                         {{"plan", e.origin.plan},
                          {"source", plan_source_name(e.origin.source)},
                          {"why", e.origin.why},
                          {"plans", table_json(e.taken_plans)}}},
                        {"plans", table_json(e.own_plans)},
                        {"size", size_json(e.size)},
                        {"flops", t.flops},
                        {"exps", t.exps},
                        {"bytes", bytes_json(t)}};
  if (e.tiles) result.update(tiles_json(*e.tiles, checked.file));
  if (!e.backward_plan.empty())
    result["backward"] = {{"plan", e.backward_plan}, {"workspace_bytes", e.backward_workspace}};
  result["products"] = describe_products(e);
  if (plan.is_baseline()) result["workspace_bytes"] = e.workspace;
  if (e.target.is_host()) return result;
  result["shared_memory"] = most_shared_memory(e.compiled.source->program);
  if (e.built) {
    result["built"] = {{"registers", e.built->registers},
                       {"spill_bytes", e.built->spill_bytes},
                       {"cubin_bytes", e.built->cubin_bytes},
                       {"nvrtc_ms", e.built->milliseconds}};
  }
  if (plan.is_baseline()) return result;
  result["register_estimate"] = register_estimate(plan, checked);
  result["ctas_per_sm"] = ctas_that_fit(plan, checked, e.target);
  result["bound"] = bound_name(t.bound);
  result["bound_ms"] = {{"tensor", t.tensor_ms}, {"exp2", t.exp2_ms}, {"memory", t.memory_ms}};
  result["predicted_ms"] = e.predicted_ms;
  result["predicted_dense_ms"] = e.predicted_dense_ms;
  result["share_of_tiles"] = e.share ? nlohmann::json(*e.share) : nullptr;
  return result;
}

}  // namespace fa::tools
