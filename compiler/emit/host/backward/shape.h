// Where each buffer of the backward pass lies in a thread's workspace.
#pragma once

#include "compiler/emit/host/shape.h"

namespace fa {

struct BackwardShape {
  int d_vecs = 0, dv_vecs = 0;  // vectors across head_dim and head_dim_v, the last ones possibly ragged
  int d_padded = 0, dv_padded = 0;
  int rows_down = 0;                    // rows of the result that an accumulating product holds in registers
  int most_vecs = 0;                    // and at most so many vectors of each
  bool copy_k = false, copy_v = false;  // into the workspace, as floats in whole vectors

  // Byte offsets in the workspace, each 64-byte aligned.
  std::size_t q_columns = 0;   // Q^T: [panels][head_dim][panel]
  std::size_t do_columns = 0;  // dO^T: [panels][head_dim_v][panel]
  std::size_t q_rows = 0;      // [panels][panel][d_padded]
  std::size_t do_rows = 0;     // [panels][panel][dv_padded]
  std::size_t dq = 0;          // [panels][panel][d_padded], without the scale
  std::size_t shift = 0;       // [panels][panel]: lse in base 2; +inf where a row has no key, or is no row
  std::size_t shift_rest = 0;  // [panels][panel]: what rounding shift to float took from it
  std::size_t d_sum = 0;       // [panels][panel]: D
  std::size_t s = 0;           // [tile_kv + qk_rows][panel]: scores, then what multiplies dO
  std::size_t dp = 0;          // [tile_kv + qk_rows][panel]: dP, then dS without the scale
  std::size_t kept_scale = 0;  // [tile_kv][panel]: dropout's factors; none without dropout
  std::size_t keep = 0;        // [tile_kv][panel_vecs] words of kept lanes, 16 bits each
  std::size_t spans = 0;  // [panel_vecs] first and last + 1 of the kv rows a vector keeps some of, as i64
  std::size_t k = 0;      // [tile_kv][d_padded]
  std::size_t v = 0;      // [tile_kv][dv_padded]
  std::size_t bytes = 0;
};

BackwardShape backward_shape(const CheckedSpec& spec, const HostShape& host, const HostCpu& cpu);

}  // namespace fa
