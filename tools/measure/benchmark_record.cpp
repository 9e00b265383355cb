#include "tools/measure/benchmark_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/measure/bench_report.h"

namespace fa::tools {

namespace {

nlohmann::json pass(const TimingSummary& time, double flops) {
  return {{"time(s)", time.median * 1e-3}, {"FLOPS(TFLOPs/s)", flops / time.median * 1e-9}};
}

/// At its peak: of both passes, where there are two.
double peak_megabytes(const BenchResult& result) {
  auto bytes = static_cast<double>(result.bytes + result.workspace_bytes);
  if (result.backward) bytes = std::max(bytes, static_cast<double>(result.backward->allocated_bytes));
  return bytes / (1 << 20);
}

}  // namespace

nlohmann::json benchmark_record(const BenchResult& result, std::optional<bool> is_causal) {
  const ProblemSize& size = result.size;
  nlohmann::json record{{"spec", result.spec},
                        {"impl", result.impl},
                        {"dtype", dtype_name(result.dtype)},
                        {"batch_size", size.batch},
                        {"seq_len", size.q_len},
                        {"num_heads", size.num_q_heads},
                        {"emb_dim", size.num_q_heads * result.head_dim}};
  if (is_causal) record["causal"] = *is_causal;
  if (size.num_kv_heads != size.num_q_heads) record["num_kv_heads"] = size.num_kv_heads;
  if (size.kv_len != size.q_len) record["kv_seq_len"] = size.kv_len;
  if (result.head_dim_v != result.head_dim) record["head_dim_v"] = result.head_dim_v;
  if (!result.plan.empty()) record["plan"] = result.plan;
  if (const auto& swept = result.swept) record["sweep"] = sweep_json(*swept);
  if (!result.error.empty()) {
    record["error"] = result.error;
    return record;
  }
  record["forward"] = pass(result.time, result.flops);
  if (const auto& backward = result.backward) {
    record["backward"] = pass(backward->time, backward->flops);
    record["forward_backward"] = pass(backward->forward_backward, result.flops + backward->flops);
  }
  record["peak_memory_usage(MB)"] = peak_megabytes(result);
  return record;
}

std::string benchmark_file_name(const BenchResult& result) {
  const ProblemSize& size = result.size;
  const auto both = [](int q, int kv) {
    return q == kv ? fmt::format("{}", q) : fmt::format("{}-{}", q, kv);
  };
  const std::string point =
      result.swept ? fmt::format("_{}{}", result.swept->field, result.swept->value) : std::string();
  return fmt::format("{}_{}_{}_B{}_H{}_N{}_D{}{}.json", result.spec, result.impl, dtype_name(result.dtype),
                     size.batch, both(size.num_q_heads, size.num_kv_heads), both(size.q_len, size.kv_len),
                     both(result.head_dim, result.head_dim_v), point);
}

}  // namespace fa::tools
