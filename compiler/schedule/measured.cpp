// This table is short on purpose: first try to change the constants of cost.cpp. Lines for one target stand
// before those for all targets.
#include "compiler/schedule/measured.h"

#include <array>

#include "compiler/schedule/shape.h"

namespace fa {
namespace {

constexpr std::array kMeasured{
    // The model prefers two CTAs of 64 rows. But then a tile of K or V serves half as many rows, which costs
    // more than the second CTA hides. With a mask the model is right: 64 rows leave more out. On an H200, B8
    // H8 N2048 d256, causal 281 against 275 TFLOP/s, at N512 213 against 188; a window at N16384 takes 0.92
    // ms against 0.97. Long causal pays: 324 against 338 TFLOP/s at N8192.
    Measured{.target = "h200",
             .family = Family::sm80,
             .least_head_dim = 208,
             .most_head_dim = 256,
             .dropout = false,
             .dense_only = true,
             .tile_q = 128,
             .tile_kv = 64,
             .warps = 8,
             .source = "340 against 325 TFLOP/s on an H200, B2 H8 N8192 d256"},
    Measured{.target = "h100",
             .family = Family::sm80,
             .least_head_dim = 208,
             .most_head_dim = 256,
             .dropout = false,
             .dense_only = true,
             .tile_q = 128,
             .tile_kv = 64,
             .warps = 8,
             .source = "the H200's measurement: the same processor"},
    // The model prefers 64 rows by up to 15%: two or three CTAs per SM instead of one.
    Measured{.target = "",
             .family = Family::sm80,
             .least_head_dim = 176,
             .most_head_dim = 192,
             .dropout = false,
             .tile_q = 128,
             .tile_kv = 64,
             .warps = 8,
             .source = "FlashAttention-2's table for A100"},
};

bool fits(const Measured& line, int head_dim) {
  return line.least_head_dim <= head_dim && head_dim <= line.most_head_dim;
}

}  // namespace

const Measured* find_measured(const CheckedSpec& spec, const Facts& facts, const Target& target) {
  const bool is_dense = !facts.has_mask || facts.mask_is_always_true;
  for (const Measured& line : kMeasured) {
    if (!line.target.empty() && line.target != target.name) continue;
    if (line.dense_only && !is_dense) continue;
    if (target.runs(line.family) && line.f32 == (spec.dtype == DType::f32) &&
        line.dropout == spec.has_dropout && fits(line, padded_head_dim(spec.head_dim, spec.dtype)) &&
        fits(line, padded_head_dim(spec.head_dim_v, spec.dtype))) {
      return &line;
    }
  }
  return nullptr;
}

}  // namespace fa
