// S and P in global memory, as the three passes of standard attention find them (templates/baseline_params.h).
//
// A row's scores of one kv tile are stored as what they are beyond the largest of them, which stands beside them in
// f32. In 16 bits that loses least where a probability is largest, whatever the scores' size, and nothing overflows:
// the error of a probability p is at most 2^-9 (bf16) of p log2(1 / p) within its tile. f32 is stored the same way.
#pragma once

#include "baseline_params.h"
#include "common/math.cuh"
#include "common/placement.cuh"

namespace fa {

/// The rows of one head.
template <class Element, int kTileKv>
struct ScoreRoom {
  char* scores;
  float* maxima;
  float* row_state;
  int stride;     // of a row of scores, in elements
  int num_tiles;  // of keys, of a row of maxima

  static __device__ __forceinline__ ScoreRoom of_head(const BaselineParams& params, int b, int h) {
    const CallParams& call = params.forward.call;
    const int stride = static_cast<int>(score_stride(call.kv_len, kTileKv));
    const int num_tiles = stride / kTileKv;
    const long long row = Sequence::head_number(call, b, h) * call.q_len;
    return {static_cast<char*>(params.scores) + row * stride * Element::kBytes,
            params.maxima + row * num_tiles, params.row_state + row * 2, stride, num_tiles};
  }

  __device__ __forceinline__ char* row(int q_idx) const {
    return scores + static_cast<long long>(q_idx) * stride * Element::kBytes;
  }
  __device__ __forceinline__ float* row_maxima(int q_idx) const {
    return maxima + static_cast<long long>(q_idx) * num_tiles;
  }
  __device__ __forceinline__ float* state(int q_idx) const {
    return row_state + static_cast<long long>(q_idx) * 2;
  }
};

/// Words of four lanes as rows of a matrix, of which each lane gets a column: afterwards words[j] is what lane j of the
/// quad had in the place of this lane's number.
__device__ __forceinline__ void transpose_quad(unsigned (&words)[4]) {
  const unsigned lane = lane_of_warp();
  const bool is_upper = (lane & 2) != 0, is_odd = (lane & 1) != 0;
  const auto exchange = [](unsigned& low, unsigned& high, bool keeps_high, int with) {
    const unsigned other = __shfl_xor_sync(0xffffffffu, keeps_high ? low : high, with);
    (keeps_high ? low : high) = other;
  };
  exchange(words[0], words[2], is_upper, 2);
  exchange(words[1], words[3], is_upper, 2);
  exchange(words[0], words[1], is_odd, 1);
  exchange(words[2], words[3], is_odd, 1);
}

}  // namespace fa
