// How many registers a thread of the forward kernel needs: the sum that keeps accumulators from spilling.
// ptxas has the last word, but it agrees: of 60 kernels without hooks (CUDA 13.0, sm_80 and sm_90) those
// whose estimate is within the budget spill at most 44 bytes, those beyond it 28 to 940.
#include <algorithm>

#include "compiler/schedule/shape.h"

namespace fa {
namespace {

// Pointers, strides, loop counters, swizzled offsets of Q, K and V, lengths.
constexpr int kAddressing = 20;
// Beside the sums of wgmma, as ptxas says where it has too few ("Try to compile with register target of 94": 64 sums
// of O; of 130: 104 sums of S). A fragment of P is four of the registers beside O.
constexpr int kBesideS = 26, kBesideO = 30;
// One ldmatrix.x4 of K or V in flight. P takes no registers of its own: it is packed into those of S.
constexpr int kOperands = 4;
// 3xTF32: the halves of a Q or P fragment; those of K or V, and a sum of three products.
constexpr int kTf32RowOperands = 12;
constexpr int kTf32ColumnOperands = 24;
// FFMA: four columns each of the rows of K or V that it is at.
constexpr int kFfmaOperands = 16;
// Philox: a counter of four, a key of two, four words of bits, and the products of a round on the way.
constexpr int kDropout = 24;
constexpr int kDrawnAhead = 16;  // a second call's words
// sm75/tile.cuh: pieces of four registers that a thread holds of a K or V tile on its way, at most.
constexpr int kMostHeld = 8;

/// Of a thread that multiplies: the sums of S, and of O.
int accumulators_of_s(const Plan& plan) { return row_tiles_per_warp(plan) * plan.tile_kv / kMmaColumns * 4; }
int accumulators_of_o(const Plan& plan, const CheckedSpec& spec) {
  return row_tiles_per_warp(plan) * output_tiles(spec.head_dim_v, spec.dtype) * 4;
}
int accumulators(const Plan& plan, const CheckedSpec& spec) {
  return accumulators_of_s(plan) + accumulators_of_o(plan, spec);
}

int registers_of_copy(const Plan& plan, const CheckedSpec& spec) {
  if (traits_of(plan.family).has_async_copies) return 0;  // cp.async holds nothing
  const int passes = ceil_div(plan.tile_kv, threads_of(plan) * 16 / kPageRowBytes);
  const int most_pages = std::max(pages(spec.head_dim, spec.dtype), pages(spec.head_dim_v, spec.dtype));
  return 4 * std::min(kMostHeld, passes * most_pages);
}

// Words of a thread for a step of a 16-row Q fragment; FFMA wants all eight columns of both its rows.
int words_of_q_step(const Plan& plan, const CheckedSpec& spec) {
  return spec.dtype == DType::f32 && !traits_of(plan.family).has_tf32_products ? 16 : 4;
}

int operands(const Plan& plan, const CheckedSpec& spec) {
  // P has registers of its own: the next S is made while it is multiplied.
  if (traits_of(plan.family).has_warpgroups) return plan.tile_kv / 4;
  if (spec.dtype != DType::f32) return kOperands;
  if (!traits_of(plan.family).has_tf32_products) return kFfmaOperands;
  return row_tiles_per_warp(plan) * kTf32RowOperands + kTf32ColumnOperands;
}

/// ptxas draws ahead where 3xTF32 leaves it long stretches without a branch.
int registers_of_dropout(const Plan& plan, const CheckedSpec& spec) {
  const bool is_tf32 = spec.dtype == DType::f32 && traits_of(plan.family).has_tf32_products;
  return is_tf32 ? kDropout + kDrawnAhead : kDropout;
}

}  // namespace

int least_launch_registers(const Plan& plan, const CheckedSpec& spec) {
  if (!traits_of(plan.family).has_warpgroups) return 0;
  return std::max(accumulators_of_s(plan) + kBesideS, accumulators_of_o(plan, spec) + kBesideO);
}

int least_registers(const Plan& plan, const CheckedSpec& spec) {
  if (plan.family == Family::host) return 0;
  // Warps that copy hold no sums, and leave the others most of their registers.
  return accumulators(plan, spec) * plan.warps / (plan.warps + traits_of(plan.family).copying_warps);
}

int register_estimate(const Plan& plan, const CheckedSpec& spec) {
  if (plan.family == Family::host) return 0;
  const int row_tiles = row_tiles_per_warp(plan);
  // Without q_in_registers only the fragment in use is held for each m-tile.
  const int steps = padded_head_dim(spec.head_dim, spec.dtype) * dtype_bytes(spec.dtype) / kStepBytes;
  const int q = row_tiles * words_of_q_step(plan, spec) * (plan.q_in_registers ? steps : 1);
  const int softmax = row_tiles * 4;  // row_max and row_sum, of the two rows a thread has in an m-tile
  // Each hook holds a value per row and, since ptxas hoists what a column needs, one for half of the columns.
  const int num_hooks = (spec.has_score_mod() ? 1 : 0) + (spec.has_mask_mod() ? 1 : 0);
  // Not where S is whole before any hook begins: the registers of P are free then, which a score_mod makes do with.
  const bool has_warpgroups = traits_of(plan.family).has_warpgroups;
  const int of_columns = has_warpgroups ? 0 : plan.tile_kv / 8;
  const bool hooks_hold = num_hooks > 0 && (spec.has_mask_mod() || !has_warpgroups);
  const int hooks = hooks_hold ? row_tiles * 2 * num_hooks + of_columns : 0;
  return accumulators(plan, spec) + q + softmax + hooks + operands(plan, spec) +
         registers_of_copy(plan, spec) + kAddressing +
         (spec.has_dropout ? registers_of_dropout(plan, spec) : 0);
}

}  // namespace fa
