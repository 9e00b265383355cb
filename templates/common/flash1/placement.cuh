// How work and scores are placed in Algorithm 1: a CTA goes over all q tiles of one head, once for each kv tile. Takes the
// place of an architecture's placement.cuh, as sm_75 and sm_80 place both alike.
#pragma once

#include "common/warps_alike.cuh"

namespace fa {

/// All q tiles of the head that the CTA's place in its grid says, one after the other.
struct HeadItem {
  static constexpr bool kDoesMany = true;

  int tile;

  __device__ __forceinline__ BatchHead head(const ForwardParams&) const {
    const auto [x, y, z] = reread_block_index();
    return {z, y};
  }
  template <bool kMayBeKept>
  __device__ __forceinline__ int q_tile(const ForwardParams&, int) const {
    return tile;
  }
  __device__ __forceinline__ int q_len(const ForwardParams& params) const {
    return Sequence::q_len(params.call, Sequence::kAnyEntry);
  }
  __device__ __forceinline__ int kv_len(const ForwardParams& params) const {
    return Sequence::kv_len(params.call, Sequence::kAnyEntry);
  }

  __device__ __forceinline__ void first(const ForwardParams&) { tile = 0; }
  __device__ __forceinline__ bool exists(const ForwardParams& params, int tile_q) const {
    return tile * tile_q < q_len(params);
  }
  __device__ __forceinline__ void next(const ForwardParams&) { ++tile; }
  /// The tile of a CTA that does one, as those of the last pass do.
  __device__ __forceinline__ void only() { tile = block_index().x; }
};

using WorkItem = HeadItem;

}  // namespace fa
