// Outputs that come out NaN although an infinity in V should have made them infinite, for products that lose
// infinities (3xTF32: the rest of an infinity is inf - inf). A warp that has stored some looks for the
// numbers of V that are not finite and adds up again what they give: slow, short, and no instruction of the
// kv loop.
#pragma once

#include "common/philox.h"
#include "common/placement.cuh"
#include "common/score/hooks.cuh"
#include "common/softmax.cuh"
#include "params.h"

namespace fa {

template <class Config, class Hooks>
struct OddOutputs {
  static constexpr int kRowsPerWarp = Config::kTileQ / Config::kWarps;
  static constexpr int kLanes = 32;
  static constexpr unsigned kSum = 0x7fc0facd;  // a NaN that stands for a sum begun here, whose sum is NaN

  /// The warp's rows of o, from first_row on. What is NaN there becomes the sum of the infinities and NaN of V
  /// that the row keeps, if it keeps any.
  static __device__ __forceinline__ void restore(const ForwardParams& params, const WorkItem& item,
                                                 int first_row) {
    __syncwarp();  // other lanes stored a lane's row
#pragma unroll 1
    for (int done = 0; done < kRowsPerWarp; done += kLanes)
      restore_rows(params, item, first_row + done, min(kLanes, kRowsPerWarp - done));
  }

 private:
  /// `rows` of them, one a lane.
  static __device__ __forceinline__ void restore_rows(const ForwardParams& params, const WorkItem& item,
                                                      int first_row, int rows) {
    const auto [b, h] = item.head(params);
    const int kv_head = Sequence::kv_head(params.call, h);
    const int lane = lane_of_warp();
    const bool exists = lane < rows && first_row + lane < item.q_len(params);
    const int q_idx = min(first_row + lane, item.q_len(params) - 1);
    const float4* const q = row_of(params.q, params.q_strides, b, h, q_idx);
    float4* const o = const_cast<float4*>(row_of(params.o, params.o_strides, b, h, q_idx));
    const typename Hooks::Head head = Hooks::head(params.call, b, h);
    const typename Hooks::Row row = Hooks::row(params.call, head, q_idx, static_cast<float>(q_idx));
#pragma unroll 1
    for (int first = 0; first < item.kv_len(params); first += kLanes) {
      const float4* const mine =
          row_of(params.v, params.v_strides, b, kv_head, min(first + lane, item.kv_len(params) - 1));
      float zero = 0.0f;  // 0 times an infinity is NaN
#pragma unroll 2
      for (int i = 0; i < Config::kHeadDimV / 4; ++i)
        zero = dot(mine[i], make_float4(0.0f, 0.0f, 0.0f, 0.0f), zero);
      unsigned odd = __ballot_sync(0xffffffffu, zero != zero && first + lane < item.kv_len(params));
#pragma unroll 1
      while (odd != 0) {
        const int kv_idx = first + __ffs(odd) - 1;
        odd &= odd - 1;
        if (!exists) continue;
        const float4* const k = row_of(params.k, params.k_strides, b, kv_head, kv_idx);
        float s = 0.0f;
#pragma unroll 2
        for (int i = 0; i < Config::kHeadDim / 4; ++i) s = dot(q[i], k[i], s);
        const typename Hooks::Column column =
            Hooks::column(params.call, head, kv_idx, static_cast<float>(kv_idx));
        float logit = Hooks::logit(s, params.call, head, row, column);
        if constexpr (Hooks::kHasRowAddend) logit += Hooks::row_addend(params.call, head, q_idx);
        bool kept = logit != negative_infinity() && Hooks::mask(params.call, head, row, column);
        if constexpr (Config::kDropout)
          kept &= dropout_bits(params.call.seed, b * params.call.num_q_heads + h, q_idx, kv_idx) >=
                  params.call.drop_threshold;
        if (!kept) continue;
        const float* const v =
            reinterpret_cast<const float*>(row_of(params.v, params.v_strides, b, kv_head, kv_idx));
#pragma unroll 1
        for (int i = 0; i < Config::kHeadDimV; ++i) {
          const float term = v[i] + (logit - logit);  // NaN for a NaN or infinite logit, as its probability
          if (term - term != 0.0f) add(reinterpret_cast<unsigned*>(o) + i, term);
        }
      }
    }
  }

  static __device__ __forceinline__ const float4* row_of(const void* tensor, const TensorStrides& strides,
                                                         int b, int h, int row) {
    return reinterpret_cast<const float4*>(Sequence::head_rows<float>(tensor, strides, b, h) +
                                           row * strides.row);
  }

  static __device__ __forceinline__ float dot(float4 a, float4 b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
  }

  static __device__ __forceinline__ void add(unsigned* place, float term) {
    const float before = __uint_as_float(*place);
    const float sum = before == before || *place == kSum ? before + term : term;
    *place = sum == sum ? __float_as_uint(sum) : kSum;
  }
};

}  // namespace fa
