// What the backward pass has to know of each query row, found by a pass of its own before the others: the lse
// that logits are compared with, and D = rowsum(dO * O) - dlse, which every dP of the row is less.
//
// Both are [batch * num_q_heads][q_len, rounded up], lse first, then all D: tiles of any size find theirs side by
// side. lse is in base 2, without what all logits of the row have in common (Hooks::row_addend); a row without a
// key, and one past q_len, has lse +inf and D 0: its probabilities come out as 0. With dropout D is divided by
// kept_scale.
#pragma once

#include "backward_params.h"
#include "common/backward/captured.cuh"
#include "common/backward/head_counts.cuh"
#include "common/backward/kept_scale.cuh"
#include "common/backward/query_sums.cuh"
#include "common/dependent_launch.cuh"
#include "common/math.cuh"
#include "common/placement.cuh"
#include "common/softmax.cuh"

namespace fa {

struct RowStats {
  const float* lse;  // of row 0 of a head
  const float* d;

  static __device__ __forceinline__ RowStats of_head(const BackwardParams& params, int b, int h) {
    const CallParams& call = params.forward.call;
    const long long rows = padded_rows(call.q_len);
    const float* const lse = params.row_stats + Sequence::head_number(call, b, h) * rows;
    return {lse, lse + static_cast<long long>(call.batch) * call.num_q_heads * rows};
  }
};

/// The pass: each team of a block's threads takes kRowsPadded rows of a head, a few lanes for a row, and where the grid has
/// fewer teams than that, others after them.
/// It also adds up the gradients of what the sink captures: as a key of probability P_sink, whose value is 0, it has
/// the gradient -P_sink D from each row.
template <class Config, class Hooks, class Derivatives, int kTeams>
struct RowStatsPass {
  using Element = typename Config::Element;
  static constexpr int kTeam = 256;  // threads
  static constexpr int kThreads = kTeams * kTeam;
  static constexpr int kRows = kTeams * kRowsPadded;   // of a block at once
  static constexpr int kPiece = 16 / Element::kBytes;  // elements that a lane reads at once
  static constexpr int kPieces = (Config::kHeadDimV + kPiece - 1) / kPiece;
  static constexpr int kLanes =  // of a row
      kPieces >= 32  ? 32
      : kPieces > 16 ? 32
      : kPieces > 8  ? 16
      : kPieces > 4  ? 8
      : kPieces > 2  ? 4
                     : 2;  // so that there are no more rows at once than a team has
  static constexpr int kRowsAtOnce = kTeam / kLanes;
  // Rows whose loads a lane starts before it adds any up.
  static constexpr int kRowsOfLane = kRowsPadded / kRowsAtOnce < 4 ? kRowsPadded / kRowsAtOnce : 4;
  static_assert(kRowsPadded % (kRowsOfLane * kRowsAtOnce) == 0 && kRowsOfLane <= kLanes);

  static __device__ __forceinline__ void run(const BackwardParams& params) {
    const CallParams& call = params.forward.call;
    const int tiles = padded_tiles(Sequence::q_len(call, Sequence::kAnyEntry));
    const int all = tiles * call.num_q_heads * call.batch;
    // This pass reads nothing of the tile map that is filled before. The next one does: by heads it starts when the map is
    // there.
    const bool by_head = HeadCounts::are_kept(params);
    if (by_head) await_pass_before();
    let_next_pass_start();
#pragma unroll 1
    for (int turn = block_index().x * kTeams + thread_of_cta() / kTeam; turn < all;
         turn += grid_width() * kTeams) {
      // In the next pass's order where that waits for heads. Else the first heads last: the next pass begins with them, and
      // finds in the L2 cache what was read and written here.
      const int number = by_head ? turn : all - 1 - turn, head = number / tiles;
      find(params, head / call.num_q_heads, head % call.num_q_heads, number % tiles);
    }
    if (!by_head) await_pass_before();
  }

 private:
  /// Of the team's rows, tile `part` of the head.
  static __device__ __forceinline__ void find(const BackwardParams& params, int b, int h, int part) {
    const CallParams& call = params.forward.call;
    const int q_len = Sequence::q_len(call, b);
    const RowStats stats = RowStats::of_head(params, b, h);
    const char* const o =
        Sequence::head_bytes<Element::kBytes>(params.forward.o, params.forward.o_strides, b, h);
    const char* const d_o = Sequence::head_bytes<Element::kBytes>(params.d_o, params.d_o_strides, b, h);
    const int thread = static_cast<int>(thread_of_cta()) % kTeam, lane = thread % kLanes;
    float d_sink = 0.0f;  // of this thread's rows
#pragma unroll 1
    for (int first = thread / kLanes; first < kRowsPadded; first += kRowsOfLane * kRowsAtOnce) {
      // The one row that this lane goes on with; its lse is asked for first, so that nothing waits for it alone.
      const int q_idx_of_lane = part * kRowsPadded + first + lane * kRowsAtOnce;
      const bool exists = lane < kRowsOfLane && q_idx_of_lane < q_len;
      const long long at = Sequence::head_number(call, b, h) * q_len + q_idx_of_lane;
      const float lse = exists ? params.forward.lse[at] : negative_infinity();
      float sums[kRowsOfLane] = {};
#pragma unroll
      for (int i = 0; i < kRowsOfLane; ++i) {
        const int q_idx = part * kRowsPadded + first + i * kRowsAtOnce;
        for (int piece = lane; q_idx < q_len && piece < kPieces; piece += kLanes)
          sums[i] += dot(o + Element::kBytes * (q_idx * params.forward.o_strides.row + piece * kPiece),
                         d_o + Element::kBytes * (q_idx * params.d_o_strides.row + piece * kPiece));
      }
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kRowsOfLane; ++i) {
#pragma unroll
        for (int other = 1; other < kLanes; other *= 2)
          sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], other);
        if (lane == i) sum = sums[i];
      }
      if (lane >= kRowsOfLane) continue;
      const bool empty = lse == negative_infinity();
      if (!empty && params.d_lse != nullptr) sum -= params.d_lse[at];
      const_cast<float*>(stats.lse)[q_idx_of_lane] =
          empty ? -negative_infinity() : lse * kLog2e - row_addend(call, b, h, q_idx_of_lane);
      const_cast<float*>(stats.d)[q_idx_of_lane] = empty ? 0.0f : sum / kept_scale<Config>(call);
      if constexpr (Derivatives::SinkAdjoints::kAny)
        if (!empty) d_sink -= fast_exp2(Hooks::sink(call, b, h) - lse * kLog2e) * sum;
    }
    if constexpr (Derivatives::SinkAdjoints::kAny) {
      d_sink = warp_sum(d_sink);
      if (lane_of_warp() == 0) add_to_all(params, b, h, d_sink, typename Derivatives::SinkAdjoints{});
    }
    // Behind the loads, which would wait for these stores to start.
    if (params.d_q_sums != nullptr)
      QuerySums<Element, Config::kHeadDim>::clear(params, b, h, part * kRowsPadded, thread, kTeam);
    if (HeadCounts::are_kept(params)) HeadCounts::count_tile_of_stats<kTeam>(params, b, h);
  }

  template <class... Adjoints>
  static __device__ __forceinline__ void add_to_all(const BackwardParams& params, int b, int h, float d_sink,
                                                    AdjointList<Adjoints...>) {
    (add_to<Adjoints>(params, b, h, d_sink), ...);
  }
  template <class Adjoint>
  static __device__ __forceinline__ void add_to(const BackwardParams& params, int b, int h, float d_sink) {
    const CallParams& call = params.forward.call;
    Adjoint::for_each_iteration(call, b, [&](const typename Adjoint::Iteration& i) {
      AdjointSums<Adjoint, true, 1>::add_to(
          params, b, h, 0, 0, times_derivative(d_sink, Adjoint::value(0.0f, call, b, h, 0, 0, i)), i);
    });
  }

  static __device__ __forceinline__ float row_addend(const CallParams& call, int b, int h, int q_idx) {
    if constexpr (Hooks::kHasRowAddend) return Hooks::row_addend(call, Hooks::head(call, b, h), q_idx);
    return 0.0f;
  }

  static __device__ __forceinline__ float dot(const char* a, const char* b) {
    const uint4 x = *reinterpret_cast<const uint4*>(a), y = *reinterpret_cast<const uint4*>(b);
    if constexpr (Element::kBytes == 4) {
      const auto product = [](unsigned x, unsigned y) { return __uint_as_float(x) * __uint_as_float(y); };
      return product(x.x, y.x) + product(x.y, y.y) + product(x.z, y.z) + product(x.w, y.w);
    } else {
      return words(x, y);
    }
  }
  static __device__ __forceinline__ float words(const uint4& x, const uint4& y) {
    return dot(x.x, y.x) + dot(x.y, y.y) + dot(x.z, y.z) + dot(x.w, y.w);
  }
  static __device__ __forceinline__ float dot(unsigned a, unsigned b) {
    const auto low = [](unsigned word) { return widened(Element{}, static_cast<unsigned short>(word)); };
    return low(a) * low(b) + low(a >> 16) * low(b >> 16);
  }
};

}  // namespace fa
