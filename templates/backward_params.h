// Launch arguments of the backward pass's kernels. Plain C++ for
// the same reasons as templates/params.h. Strides are in elements, the innermost one is 1.
#pragma once

#include "common/host_device.h"
#include "params.h"  // beside this file, under either root

namespace fa {

/// A captured gradient has a number of its own: that of its param, or kMaxParams plus that of its tensor.
constexpr int kMaxGradients = kMaxParams + kMaxTensors;

/// The sum of f32 terms as an integer (common/backward/exact_sum.cuh): zeros are zero.
constexpr int kExactDigits = 12;
struct ExactSum {
  unsigned long long digits[kExactDigits];
  unsigned odd;  // what was added that is no number
};

struct BackwardParams {
  /// What the forward pass was called with. Here its o and lse are read.
  ForwardParams forward;

  const void* d_o;     // the loss's gradient by o
  const float* d_lse;  // and by lse, [B, num_q_heads, q_len] contiguous; null: zero
  void* d_q;           // written, like the two below
  void* d_k;
  void* d_v;
  TensorStrides d_o_strides;
  TensorStrides d_q_strides;
  TensorStrides d_k_strides;
  TensorStrides d_v_strides;

  // What a launch on a GPU adds: where its passes find each other's results, in the call's workspace.
  float* row_stats;  // common/backward/row_stats.cuh
  float* d_q_sums;   // common/backward/query_sums.cuh; null where dQ has a pass of its own
  // common/backward/head_counts.cuh, zeros at first; null where passes wait for whole passes.
  unsigned* head_counts;
  // By their numbers; null where there is none. Kernels add to them: they begin as zeros.
  float* gradients[kMaxGradients];
  // Where gradients repeat: their sums in the call's workspace, which begin as zeros. Null where the elements have
  // one writer each, who stores them.
  ExactSum* exact_sums[kMaxGradients];
  long long elements[kMaxGradients];  // of each gradient
};

/// Whether each element of a captured gradient has one writer, the CTA that has its place of the scores. It is so
/// within a head: `of_batch` and `of_head` say whether b and h are among the element's indices.
FA_HOST_DEVICE constexpr bool has_one_writer(const CallParams& call, bool of_batch, bool of_head) {
  return (of_batch || call.batch == 1) && (of_head || call.num_q_heads == 1);
}
/// Blocks that share the elements of all captured gradients.
constexpr int kBlocksOfExactSums = 128;

/// Rows of a head that row_stats has room for: whole tiles of the largest size.
constexpr int kRowsPadded = 128;
FA_HOST_DEVICE constexpr int padded_tiles(int q_len) {
  return static_cast<int>((static_cast<long long>(q_len) + kRowsPadded - 1) / kRowsPadded);
}
FA_HOST_DEVICE constexpr long long padded_rows(int q_len) {
  return static_cast<long long>(padded_tiles(q_len)) * kRowsPadded;
}
/// Floats of row_stats: two a row.
FA_HOST_DEVICE constexpr long long row_stats_floats(const CallParams& call) {
  return 2 * padded_rows(call.q_len) * call.batch * call.num_q_heads;
}
/// Numbers of head_counts.
FA_HOST_DEVICE constexpr long long head_counts_size(const CallParams& call) {
  return static_cast<long long>(call.batch) * (call.num_q_heads + call.num_kv_heads);
}
/// Floats of d_q_sums.
FA_HOST_DEVICE constexpr long long d_q_sums_floats(const CallParams& call, int head_dim) {
  return padded_rows(call.q_len) * call.batch * call.num_q_heads * ((head_dim + 15) / 16 * 16);
}

}  // namespace fa
