// Dropout's random words for the elements that a thread holds of a tile of scores.
#pragma once

#include "common/philox.h"
#include "common/placement.cuh"
#include "params.h"

namespace fa {

/// The words of `kColumns` columns, 16 or 32, from `kv0` on: one Philox call serves the eight elements a
/// thread holds of a row in 32 columns. `first_row`: the warp's first row.
template <int kColumns, class Place, int kMTiles>
__device__ __forceinline__ void draw_dropout(const ForwardParams& params, const WorkItem& item,
                                             unsigned first_row, int kv0, PhiloxWords (&words)[kMTiles][2]) {
  const auto [b, h] = item.head(params);
  const unsigned bh = b * params.call.num_q_heads + h;
  const unsigned row0 = first_row + Place::row_of_lane(lane_of_warp());
#pragma unroll
  for (int m = 0; m < kMTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      PhiloxWords& drawn = words[m][half];
      drawn = dropout_words(params.call.seed, bh, row0 + Place::row_offset({m, half}),
                            kv0 + Place::first_column());
      if (kColumns == 16 && kv0 % 32 != 0) {
        drawn.word[0] = drawn.word[2];
        drawn.word[1] = drawn.word[3];
      }
    }
}

}  // namespace fa
