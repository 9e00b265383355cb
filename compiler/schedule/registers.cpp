// How many registers a thread of the forward kernel needs: the sum that keeps accumulators from spilling.
// ptxas has the last word, but it agrees: of 60 kernels without hooks (CUDA 13.0, sm_80 and sm_90) those
// whose estimate is within the budget spill at most 44 bytes, those beyond it 28 to 940.
#include "compiler/schedule/shape.h"

namespace fa {
namespace {

// Pointers, strides, loop counters, swizzled offsets of Q, K and V, lengths.
constexpr int kAddressing = 20;
// One ldmatrix.x4 of K or V in flight. P takes no registers of its own: it is packed into those of S.
constexpr int kOperands = 4;
// Philox: a counter of four, a key of two, four words of bits, and the products of a round on the way.
constexpr int kDropout = 24;

}  // namespace

int register_estimate(const Plan& plan, const CheckedSpec& spec) {
  if (plan.family == Family::host) return 0;
  const int row_tiles = row_tiles_per_warp(plan);
  const int acc_s = row_tiles * plan.tile_kv / 8 * 4;
  const int acc_o = row_tiles * padded_head_dim(spec.head_dim_v) / 8 * 4;
  // An A fragment is four registers; without q_in_registers only the one in use is held for each m-tile.
  const int q = row_tiles * 4 * (plan.q_in_registers ? padded_head_dim(spec.head_dim) / kMmaDepth : 1);
  const int softmax = row_tiles * 4;  // row_max and row_sum, of the two rows a thread has in an m-tile
  // Of each hook a value for each row; and, since ptxas hoists what a column needs, half of the columns.
  const int num_hooks = (spec.score_mod ? 1 : 0) + (spec.mask_mod ? 1 : 0);
  const int hooks = num_hooks == 0 ? 0 : row_tiles * 2 * num_hooks + plan.tile_kv / 8;
  return acc_s + acc_o + q + softmax + hooks + kOperands + kAddressing + (spec.has_dropout ? kDropout : 0);
}

}  // namespace fa
