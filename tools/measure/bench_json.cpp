// A result of `facet bench` as JSON.
#include <nlohmann/json.hpp>

#include "tools/measure/bench_report.h"
#include "tools/problem/describe.h"

namespace fa::tools {

nlohmann::json sweep_json(const SweptValue& swept) {
  return {{"field", swept.field}, {"value", swept.value}, {"chosen", swept.is_chosen}};
}

nlohmann::json to_json(const BenchResult& result) {
  nlohmann::json json{{"spec", result.spec},
                      {"impl", result.impl},
                      {"file", result.file},
                      {"dtype", dtype_name(result.dtype)},
                      {"head_dim", result.head_dim},
                      {"head_dim_v", result.head_dim_v},
                      {"size", size_json(result.size)},
                      {"target", result.target},
                      {"plan", result.plan}};
  if (const auto& swept = result.swept) json["sweep"] = sweep_json(*swept);
  if (!result.error.empty()) {
    json["error"] = result.error;
    return json;
  }
  json["plan_calls"] = result.plan_calls;
  json["time_ms"] = timing_json(result.time);
  json["tflops"] = result.tflops;
  json["flops"] = result.flops;
  json["flops_counted"] = result.flops_counted;
  json["gb_per_s"] = result.gb_per_s;
  json["bytes"] = result.bytes;
  json["counted_bytes"] = bytes_json(result.traffic);
  json["workspace_bytes"] = result.workspace_bytes;
  json["copies"] = result.copies;
  json["compile_ms"] = result.compile_ms;
  if (result.verified) json["verified"] = *result.verified;
  if (const auto& backward = result.backward) {
    json["backward"] = {{"time_ms", timing_json(backward->time)},
                        {"flops", backward->flops},
                        {"tflops", backward->flops / backward->time.median * 1e-9},
                        {"workspace_bytes", backward->workspace_bytes}};
    json["forward_backward"] = {{"time_ms", timing_json(backward->forward_backward)}};
  }
  return json;
}

}  // namespace fa::tools
