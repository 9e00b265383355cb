#include "compiler/schedule/host/host_plan.h"

namespace fa {
namespace {

constexpr Plan tiles_of(int tile_q, int tile_kv) {
  return {.family = Family::host, .tile_q = tile_q, .tile_kv = tile_kv, .warps = 1};
}

constexpr HostDefault kDefaults[] = {
    // Both cores of a Xeon, N2048, four turns: 3 to 13% faster than 128 x 128 without a mask, causal, with a window of 1024 keys,
    // T5's bias and softcap, d64 to d256; as fast with documents and at d32, 8% slower with a window of 256 keys at d64. 128 x 128
    // was a fifth faster than 96 x 64. 256 rows are up to 12% faster still, but leave fewer tiles to share out among cores.
    {"", 0, HostProduct::tiles, tiles_of(128, 256),
     "four panels for each K and V packed for the tile registers"},
    // One core of a Zen 4, d64 and d128, up to six turns: never slower than 128 x 64 and up to 1.19x as fast (BigBird);
    // 3 to 9% faster than 96 x 64, without a mask and with a causal one.
    {"", 0, HostProduct::pairs, tiles_of(128, 128), "panels of two vectors, four for each V that is paired"},
    // The same in f32 and f16: up to 1.10x and 2 to 8%. An FMA a clock needs no third vector to be kept busy.
    {"znver4", 16, HostProduct::floats, tiles_of(128, 128),
     "panels of two vectors, whose scores against one kv tile stay in a core's L1 cache"},
    // A Xeon with AVX-512 (d64 to d256): the fastest of tile_q 48 to 192 by tile_kv 64 to 512, by 3 to 15%; tile_q
    // 192 ties at d64 but leaves half as many tiles to share out among cores. A Zen 4 kept to AVX2 (f32 and bf16,
    // d64, four turns): within 2% of the fastest of these, without a mask, causal and with a window of 256.
    {"", 0, HostProduct::floats, tiles_of(96, 64),
     "whole panels, whose scores against one kv tile stay in a core's L1 cache"},
};

}  // namespace

const HostCpu& host_cpu_of(const Target& target) {
  static const HostCpu unknown;
  return target.cpu != nullptr ? *target.cpu : unknown;
}

const HostDefault& host_default(DType dtype, const HostCpu& known) {
  const HostDefault* line = kDefaults;
  while (!(line->cpu.empty() || line->cpu == known.name) || line->lanes > known.lanes ||
         line->product != product_of(dtype, known))
    ++line;  // each product has a line that any CPU fits
  return *line;
}

}  // namespace fa
