// The shared-memory map of the forward kernel, and its sum. The kernel lays out the same regions in the same
// order and the generated source asserts the total, so host and device cannot disagree.
//
//   Q: tile_q rows, K: stages x tile_kv rows, V: stages x tile_kv rows; a row is pages(d) x 128 bytes. Then
//   what hooks read a tile ahead (templates/common/score/staged_reads.cuh).
//   With q_in_registers Q leaves its rows before K arrives, so Q lies over K and V.
//   16-bit output goes to memory through the whole buffer, once the loop is done with it. Barriers come last.
#include <algorithm>

#include "compiler/schedule/shape.h"

namespace fa {

namespace {

/// Barriers in shared memory: full and empty, of each stage of K and of V where warps of their own copy, and one, with a word of
/// the same size, by which those learn what the others decide; else of each stage of both, where there are two, and one of what
/// hooks read ahead.
int num_barriers(const Plan& plan) {
  if (traits_of(plan.family).copying_warps > 0) return 4 * plan.stages + 2;
  return plan.stages == 2 ? 2 * plan.stages + 1 : 0;
}

}  // namespace

int shared_memory_bytes(const Plan& plan, const CheckedSpec& spec, int staged_bytes) {
  if (plan.family == Family::host) return 0;
  const int row_of_k = pages(spec.head_dim, spec.dtype) * kPageRowBytes;
  const int row_of_v = pages(spec.head_dim_v, spec.dtype) * kPageRowBytes;
  const int q = plan.tile_q * row_of_k;
  const int k = plan.stages * plan.tile_kv * row_of_k;
  const int v = plan.stages * plan.tile_kv * row_of_v;
  const int o = spec.dtype == DType::f32 ? 0 : plan.tile_q * row_of_v;
  const int in_the_loop = plan.q_in_registers ? k + v : q + k + v;
  return std::max({in_the_loop + staged_bytes, q, o}) + num_barriers(plan) * kBarrierBytes;
}

int spare_shared_memory_bytes(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  if (plan.family == Family::host) return 0;
  const int share = target.max_smem_per_sm / plan.min_ctas - target.reserved_smem_per_block;
  const int most = std::min(share, target.max_smem_per_block);
  return most - shared_memory_bytes(plan, spec);
}

}  // namespace fa
