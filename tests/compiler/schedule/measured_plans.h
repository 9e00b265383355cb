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
// H200, bf16, B2, length 8192, d64, d128 and d256: `facet bench --plan`, milliseconds, 2026-11-29; with a mask: causal.
// H200, d192: bench/results/2026-11-22_h200_sm80_resting_warps_and_d256_plan.json (in git's history, measured at commit
// 88c521a): geometric means of the milliseconds over dense attention at two lengths.
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
    {"h200", 64, false, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 3.098},
    {"h200", 64, false, false, "tile_q=128 tile_kv=128 warps=4 stages=2", 3.0348},
    {"h200", 64, false, false, "tile_q=256 tile_kv=128 warps=8 stages=2", 2.8853},
    {"h200", 64, false, false, "tile_q=128 tile_kv=64 warps=4 stages=2", 3.0904},
    {"h200", 64, false, true, "tile_q=128 tile_kv=128 warps=4 stages=1", 1.5844},
    {"h200", 64, false, true, "tile_q=128 tile_kv=128 warps=4 stages=2", 1.5575},
    {"h200", 64, false, true, "tile_q=256 tile_kv=128 warps=8 stages=2", 1.4893},
    {"h200", 64, false, true, "tile_q=128 tile_kv=64 warps=4 stages=2", 1.6343},
    {"h200", 128, false, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 2.7628},
    {"h200", 128, false, false, "tile_q=128 tile_kv=64 warps=4 stages=2", 2.6672},
    {"h200", 128, false, false, "tile_q=256 tile_kv=64 warps=8 stages=2", 2.5884},
    {"h200", 128, false, false, "tile_q=256 tile_kv=64 warps=8 stages=1", 2.6707},
    {"h200", 128, false, false, "tile_q=128 tile_kv=128 warps=8 stages=1", 3.29},
    {"h200", 128, false, false, "tile_q=128 tile_kv=128 warps=8 stages=2", 2.9975},
    {"h200", 128, false, false, "tile_q=64 tile_kv=64 warps=4 stages=1", 3.3117},
    {"h200", 128, false, false, "tile_q=64 tile_kv=64 warps=4 stages=2", 3.2737},
    {"h200", 128, false, false, "tile_q=128 tile_kv=64 warps=8 stages=2", 3.1049},
    {"h200", 128, false, true, "tile_q=128 tile_kv=64 warps=4 stages=1", 1.4373},
    {"h200", 128, false, true, "tile_q=128 tile_kv=64 warps=4 stages=2", 1.3645},
    {"h200", 128, false, true, "tile_q=256 tile_kv=64 warps=8 stages=2", 1.2951},
    {"h200", 128, false, true, "tile_q=256 tile_kv=64 warps=8 stages=1", 1.3604},
    {"h200", 128, false, true, "tile_q=128 tile_kv=128 warps=8 stages=1", 1.6278},
    {"h200", 128, false, true, "tile_q=128 tile_kv=128 warps=8 stages=2", 1.5168},
    {"h200", 128, false, true, "tile_q=64 tile_kv=64 warps=4 stages=1", 1.7452},
    {"h200", 128, false, true, "tile_q=64 tile_kv=64 warps=4 stages=2", 1.6883},
    {"h200", 128, false, true, "tile_q=128 tile_kv=64 warps=8 stages=2", 1.5807},
    {"h200", 256, false, false, "tile_q=128 tile_kv=128 warps=8 stages=1", 3.0229},
    {"h200", 256, false, false, "tile_q=128 tile_kv=64 warps=8 stages=2", 2.9382},
    {"h200", 256, false, false, "tile_q=128 tile_kv=64 warps=8 stages=1", 3.233},
    {"h200", 256, false, false, "tile_q=64 tile_kv=64 warps=4 stages=1", 3.3056},
    {"h200", 192, false, false, "tile_q=128 tile_kv=128 warps=8 stages=1", 2.2464},
    {"h200", 192, false, false, "tile_q=128 tile_kv=64 warps=8 stages=1", 2.344},
    {"h200", 192, false, false, "tile_q=64 tile_kv=128 warps=4 stages=1", 2.3617},
    {"h200", 192, false, false, "tile_q=64 tile_kv=64 warps=4 stages=1", 2.4174},
    {"h200", 256, false, true, "tile_q=128 tile_kv=128 warps=8 stages=1", 1.504},
    {"h200", 256, false, true, "tile_q=128 tile_kv=64 warps=8 stages=2", 1.4779},
    {"h200", 256, false, true, "tile_q=128 tile_kv=64 warps=8 stages=1", 1.6134},
    {"h200", 256, false, true, "tile_q=64 tile_kv=64 warps=4 stages=1", 1.694},
    {"a100", 64, false, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 1},
    {"a100", 64, false, false, "tile_q=64 tile_kv=128 warps=2 stages=1", 1.05},
    {"a100", 64, false, false, "tile_q=128 tile_kv=128 warps=8 stages=1", 1.18},
    {"a100", 64, false, false, "tile_q=64 tile_kv=256 warps=4 stages=1", 1.27},
    {"a100", 128, false, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"a100", 128, false, false, "tile_q=128 tile_kv=128 warps=8 stages=1", 1.28},
    // Only the fastest is known of these.
    {"h200", 32, false, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 1},
    {"h200", 96, false, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"h200", 32, true, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 1},
    {"h200", 64, true, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"h200", 128, true, false, "tile_q=128 tile_kv=32 warps=4 stages=1", 1},
    {"h100", 64, false, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 1},
    {"h100", 128, false, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"a100", 32, false, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 1},
    {"a100", 96, false, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"a100", 192, false, false, "tile_q=128 tile_kv=64 warps=8 stages=1", 1},
    {"a100", 256, false, false, "tile_q=128 tile_kv=64 warps=8 stages=1", 1},
    {"a100", 64, true, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"a100", 128, true, false, "tile_q=128 tile_kv=32 warps=4 stages=1", 1},
    {"a100-40gb", 128, false, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"l4", 64, false, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 1},
    {"l4", 128, false, false, "tile_q=128 tile_kv=32 warps=4 stages=1", 1},
    {"rtx4090", 64, false, false, "tile_q=128 tile_kv=128 warps=4 stages=1", 1},
    {"rtx4090", 96, false, false, "tile_q=128 tile_kv=64 warps=4 stages=1", 1},
    {"rtx4090", 128, false, false, "tile_q=128 tile_kv=32 warps=4 stages=1", 1},
});

}  // namespace fa::test
