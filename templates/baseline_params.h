// Launch arguments of the baselines' passes (docs/baselines.md): what ForwardParams has, and where they keep what fused
// kernels never store. Plain C++ for the same reasons as params.h.
#pragma once

#include "common/host_device.h"
#include "params.h"  // beside this file, under either root

namespace fa {

struct BaselineParams {
  ForwardParams forward;

  // In the call's workspace. Of standard attention:
  void* scores;   // S, then P in its place: [B, num_q_heads, q_len, score_stride] in the dtype of q
  float* maxima;  // [B, num_q_heads, q_len, tiles of keys]: what a row's scores of a tile are counted from
  // Of FlashAttention's algorithm 1:
  float*
      sums;  // [B, num_q_heads, q_len, columns]: each row of O before it is divided, columns as threads hold them
  // Of both:
  float* row_state;  // [B, num_q_heads, q_len, 2]: each row's maximum and sum, in base 2
};

/// Keys of a row of S: whole tiles.
FA_HOST_DEVICE constexpr long long score_stride(int kv_len, int tile_kv) {
  return (static_cast<long long>(kv_len) + tile_kv - 1) / tile_kv * tile_kv;
}
/// Rows of all heads and batch entries.
FA_HOST_DEVICE constexpr long long rows_of(const CallParams& call) {
  return static_cast<long long>(call.batch) * call.num_q_heads * call.q_len;
}

}  // namespace fa
