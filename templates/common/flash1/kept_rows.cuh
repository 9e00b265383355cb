// What Algorithm 1 keeps of each row in global memory from kv tile to kv tile, in f32: its sum of P V, maximum and sum
// of probabilities (templates/baseline_params.h).
//
// Four lanes hold a row's sums. In memory each lane's numbers stand in groups of four, side by side with those of the other
// lanes: four lanes then read or write 64 bytes at a time. Each number is read by the thread that wrote it.
#pragma once

#include "baseline_params.h"
#include "common/forward.cuh"
#include "common/tiles/tile_class.cuh"

namespace fa {

template <class Config, class Hooks>
struct KeptRows : Forward<Config, Hooks, NoClasses> {
  using Fused = Forward<Config, Hooks, NoClasses>;
  using Fused::item;
  using Fused::kDTiles;
  using Fused::kMTiles;
  using Fused::o;
  using Fused::softmax;
  using typename Fused::Place;
  static_assert(!Hooks::kStagesColumns && !Hooks::kStagesElements);
  static_assert(kDTiles % 2 == 0);

  static constexpr int kColumns = 8 * kDTiles;  // of a row of sums, with the padding of the last products

  /// As store_rows left them after the kv tile before.
  __device__ __forceinline__ void load_rows(const BaselineParams& params) {
    for_each_row(params, [&](typename Place::ThreadRow row, bool exists, float* state, float4* sums) {
      SoftmaxRow& of_row = Place::of_row(softmax, row);
      of_row.start();
      if (exists) {
        const float2 kept = *reinterpret_cast<const float2*>(state);
        of_row.m = kept.x;
        if (Place::leads_rows(lane_of_warp())) of_row.l = kept.y;
      }
#pragma unroll
      for (int d = 0; d < kDTiles; d += 2) {
        float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (exists) four = sums[2 * d];
        o[row.m][d][2 * row.half] = four.x;
        o[row.m][d][2 * row.half + 1] = four.y;
        o[row.m][d + 1][2 * row.half] = four.z;
        o[row.m][d + 1][2 * row.half + 1] = four.w;
      }
    });
  }

  __device__ __forceinline__ void store_rows(const BaselineParams& params) {
    for_each_row(params, [&](typename Place::ThreadRow row, bool exists, float* state, float4* sums) {
      const SoftmaxRow& of_row = Place::of_row(softmax, row);
      const float l = quad_sum(of_row.l);
      if (!exists) return;
      if (Place::leads_rows(lane_of_warp())) *reinterpret_cast<float2*>(state) = make_float2(of_row.m, l);
#pragma unroll
      for (int d = 0; d < kDTiles; d += 2)
        sums[2 * d] = make_float4(o[row.m][d][2 * row.half], o[row.m][d][2 * row.half + 1],
                                  o[row.m][d + 1][2 * row.half], o[row.m][d + 1][2 * row.half + 1]);
    });
  }

 private:
  /// `body(row, exists, state, sums)` on the thread's rows of this q tile: whether the row is there, and where its maximum
  /// and sum and this lane's part of its sums of P V lie.
  template <class Body>
  __device__ __forceinline__ void for_each_row(const BaselineParams& baseline, Body body) {
    const ForwardParams& params = baseline.forward;
    const auto [b, h] = item.head(params);
    const int q_len = item.q_len(params);
    const long long first_of_head = Sequence::head_number(params.call, b, h) * q_len;
    const int first = this->first_row_of_thread(params);
    Place::for_each_row([&](typename Place::ThreadRow row) {
      const int q_idx = first + Place::row_offset(row);
      const long long number = first_of_head + q_idx;
      body(row, q_idx < q_len, baseline.row_state + 2 * number,
           reinterpret_cast<float4*>(baseline.sums + number * kColumns) + lane_of_warp() % 4);
    });
  }
};

}  // namespace fa
