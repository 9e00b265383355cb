// A result of `facet bench` by the names that benchmarks of FlashAttention use.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tools/measure/bench.h"

namespace fa::tools {

/// {"spec", "impl", "causal", "dtype", "batch_size", "seq_len", "num_heads", "emb_dim", "forward": {"time(s)",
/// "FLOPS(TFLOPs/s)"}, "backward", "forward_backward", "peak_memory_usage(MB)", "plan"}: emb_dim is num_heads x head_dim, times are medians,
/// FLOPs those that the result counts, MB 2^20 bytes of tensors, gradients and workspaces. Only what was timed is there; keys and
/// values whose heads, length or width differ add "num_kv_heads", "kv_seq_len", "head_dim_v". A result with an error has that in the
/// place of times. "causal" is there for plain attention alone, which `is_causal` or is not; what a spec's mask is, its name says.
/// A point of a sweep adds "sweep": {"field", "value", "chosen"}.
nlohmann::json benchmark_record(const BenchResult& result, std::optional<bool> is_causal);

/// A file's name that no other result of a run has: causal_facet_bf16_B1_H8_N1024_D64.json, of a sweep ..._D64_tile_kv128.json.
std::string benchmark_file_name(const BenchResult& result);

}  // namespace fa::tools
