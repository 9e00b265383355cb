// Times of several plans for the same problem, as they were measured: what the cost model is judged by.
#pragma once

#include <array>
#include <string_view>

namespace fa::test {

/// The time of one plan. Rows of one problem (target, family, head_dim, dropout, mask) stand next to each other.
/// Plans that name no family are sm80's, and the best among those.
struct PlanTime {
  std::string_view target;
  int head_dim;
  bool dropout, mask;
  std::string_view plan;
  double time;  // relative to the other plans of the problem; any unit
};

// FlashAttention-2 (csrc/flash_attn/src/flash_fwd_launch_template.h): its authors measured which tile is the
// fastest and wrote down how much slower some others are, at length 2048 on an A100. 1 means "the fastest".
//
// H200, bf16, B2, length 8192, dense, d64 and d128: this repository's docs/performance.md at commit b7cf869,
// from TFLOP/s. H200, d256: bench/results/2026-11-22_h200_sm80_resting_warps_and_d256_plan.json (in git's
// history, measured at commit 88c521a): geometric means of the milliseconds over dense attention at two
// lengths, and over nine problems with masks (causal at three lengths; a window, documents and a prefix at
// two each).
//
// H200, plans of sm90: `facet bench --plan`, bf16, B2, length 8192, 32 heads at d64, 16 at d96 and d128, 8 at d256, 2026-11-24
// (d96, and d128 without a mask: 2026-11-25), milliseconds; with a mask: causal.
inline constexpr auto kPlanTimes = std::to_array<PlanTime>({
    {"h200", 64, false, false, "sm90 tile_q=192 tile_kv=112 warps=12 stages=2", 2.3208},
    {"h200", 64, false, false, "sm90 tile_q=192 tile_kv=96 warps=12 stages=2", 2.3997},
    {"h200", 64, false, false, "sm90 tile_q=192 tile_kv=64 warps=12 stages=2", 2.5021},
    {"h200", 64, false, false, "sm90 tile_q=128 tile_kv=128 warps=8 stages=2", 2.7932},
    {"h200", 64, false, true, "sm90 tile_q=192 tile_kv=112 warps=12 stages=2", 1.2789},
    {"h200", 64, false, true, "sm90 tile_q=192 tile_kv=96 warps=12 stages=2", 1.2887},
    {"h200", 64, false, true, "sm90 tile_q=128 tile_kv=128 warps=8 stages=2", 1.4410},
    {"h200", 96, false, false, "sm90 tile_q=192 tile_kv=96 warps=12 stages=2", 1.5221},
    {"h200", 96, false, false, "sm90 tile_q=128 tile_kv=192 warps=8 stages=2", 1.6690},
    {"h200", 128, false, false, "sm90 tile_q=192 tile_kv=80 warps=12 stages=2", 1.8496},
    {"h200", 128, false, false, "sm90 tile_q=192 tile_kv=64 warps=12 stages=2", 1.9031},
    {"h200", 128, false, false, "sm90 tile_q=128 tile_kv=176 warps=8 stages=2", 1.9672},
    {"h200", 128, false, false, "sm90 tile_q=128 tile_kv=128 warps=8 stages=2", 1.9706},
    {"h200", 128, false, false, "sm90 tile_q=128 tile_kv=64 warps=8 stages=2", 2.2031},
    {"h200", 128, false, true, "sm90 tile_q=128 tile_kv=128 warps=8 stages=2", 0.8990},
    {"h200", 128, false, true, "sm90 tile_q=128 tile_kv=96 warps=8 stages=2", 1.0547},
    {"h200", 256, false, true, "sm90 tile_q=128 tile_kv=64 warps=8 stages=2", 0.8445},
    {"h200", 64, false, false, "tile_q=128 tile_kv=128 warps=4", 1 / 349.0},
    {"h200", 64, false, false, "tile_q=128 tile_kv=64 warps=4", 1 / 317.0},
    {"h200", 64, false, false, "tile_q=128 tile_kv=128 warps=8", 1 / 276.0},
    {"h200", 128, false, false, "tile_q=128 tile_kv=64 warps=4", 1 / 362.0},
    {"h200", 128, false, false, "tile_q=128 tile_kv=32 warps=4", 1 / 341.0},
    {"h200", 128, false, false, "tile_q=64 tile_kv=64 warps=4", 1 / 309.0},
    {"h200", 128, false, false, "tile_q=128 tile_kv=64 warps=8", 1 / 309.0},
    {"h200", 192, false, false, "tile_q=128 tile_kv=128 warps=8", 2.2464},
    {"h200", 192, false, false, "tile_q=128 tile_kv=64 warps=8", 2.344},
    {"h200", 192, false, false, "tile_q=64 tile_kv=128 warps=4", 2.3617},
    {"h200", 192, false, false, "tile_q=64 tile_kv=64 warps=4", 2.4174},
    {"h200", 256, false, false, "tile_q=128 tile_kv=128 warps=8", 3.004},
    {"h200", 256, false, false, "tile_q=128 tile_kv=64 warps=8", 3.269},
    {"h200", 256, false, false, "tile_q=64 tile_kv=64 warps=4", 3.273},
    {"h200", 256, false, false, "tile_q=64 tile_kv=32 warps=4", 3.652},
    {"h200", 256, false, true, "tile_q=128 tile_kv=128 warps=8", 0.3842},
    {"h200", 256, false, true, "tile_q=128 tile_kv=64 warps=8", 0.4002},
    {"h200", 256, false, true, "tile_q=64 tile_kv=64 warps=4", 0.3615},
    {"a100", 64, false, false, "tile_q=128 tile_kv=128 warps=4", 1},
    {"a100", 64, false, false, "tile_q=64 tile_kv=128 warps=2", 1.05},
    {"a100", 64, false, false, "tile_q=128 tile_kv=128 warps=8", 1.18},
    {"a100", 64, false, false, "tile_q=64 tile_kv=256 warps=4", 1.27},
    {"a100", 128, false, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"a100", 128, false, false, "tile_q=128 tile_kv=128 warps=8", 1.28},
    // Only the fastest is known of these.
    {"h200", 32, false, false, "tile_q=128 tile_kv=128 warps=4", 1},
    {"h200", 96, false, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"h200", 32, true, false, "tile_q=128 tile_kv=128 warps=4", 1},
    {"h200", 64, true, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"h200", 128, true, false, "tile_q=128 tile_kv=32 warps=4", 1},
    {"h100", 64, false, false, "tile_q=128 tile_kv=128 warps=4", 1},
    {"h100", 128, false, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"a100", 32, false, false, "tile_q=128 tile_kv=128 warps=4", 1},
    {"a100", 96, false, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"a100", 192, false, false, "tile_q=128 tile_kv=64 warps=8", 1},
    {"a100", 256, false, false, "tile_q=128 tile_kv=64 warps=8", 1},
    {"a100", 64, true, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"a100", 128, true, false, "tile_q=128 tile_kv=32 warps=4", 1},
    {"a100-40gb", 128, false, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"l4", 64, false, false, "tile_q=128 tile_kv=128 warps=4", 1},
    {"l4", 128, false, false, "tile_q=128 tile_kv=32 warps=4", 1},
    {"rtx4090", 64, false, false, "tile_q=128 tile_kv=128 warps=4", 1},
    {"rtx4090", 96, false, false, "tile_q=128 tile_kv=64 warps=4", 1},
    {"rtx4090", 128, false, false, "tile_q=128 tile_kv=32 warps=4", 1},
});

}  // namespace fa::test
