// Standard attention, pass 3: O = P V, divided by each row's sum. One CTA per (q tile, q head, batch).
//
// Shared       (P | V) x stages; a stage has the keys of one page, 128 bytes of a row of P. 16-bit output is staged
//              through the same room at the end.
// Protocol     per stage: P and V arrive -> barrier -> (the copies into the stage before start) -> O += P V. Copies
//              through registers (sm_75) have one stage and a second barrier.
// Ragged edge  rows past q_len are zeros and not stored; P is 0 in columns past kv_len, where V's rows are zeros.
#pragma once

#include "common/odd_outputs.cuh"
#include "common/output_tile.cuh"
#include "common/products.cuh"
#include "common/standard/score_room.cuh"
#include "common/tile.cuh"

namespace fa {

template <class Config, class Hooks>
struct StandardOutputs : OutputTile<Config, false> {
  using Output = OutputTile<Config, false>;
  using Output::kDTiles;
  using Output::kMTiles;
  using Output::kRowsPerWarp;
  using Output::o;
  using Output::softmax;
  using typename Output::Element;
  using typename Output::OTile;
  using typename Output::Place;
  using typename Output::Product;
  using Room = ScoreRoom<Element, Config::kTileKv>;

  static constexpr int kKeys = 128 / Element::kBytes;  // of a stage
  using PTile = Tile<Element, Config::kTileQ, kKeys>;
  using VTile = Tile<Element, kKeys, Config::kHeadDimV>;
  static_assert(Config::kTileKv % kKeys == 0);
  static constexpr int kThreads = Config::kWarps * 32;
  static constexpr int kStages = Config::kStages;
  static constexpr int kStageBytes = PTile::kBytes + VTile::kBytes;
  static constexpr int kLoopBytes = kStages * kStageBytes;
  static constexpr int kSharedBytes =
      Product::kStagesOutput && OTile::kBytes > kLoopBytes ? OTile::kBytes : kLoopBytes;

  static __device__ __forceinline__ void run(const BaselineParams& params) {
    StandardOutputs outputs;
    outputs.run_item(params);
  }

 private:
  __device__ __forceinline__ void run_item(const BaselineParams& baseline) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const ForwardParams& params = baseline.forward;
    const WorkItem item;
    const auto [b, h] = item.head(params);
    const int q0 = item.template q_tile<true>(params, Config::kTileQ) * Config::kTileQ;
    const int q_len = item.q_len(params), kv_len = item.kv_len(params);
    const Room room = Room::of_head(baseline, b, h);
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const unsigned copy_to = smem + copy_offset();
    const char* const v = Sequence::head_bytes<Element::kBytes>(params.v, params.v_strides, b,
                                                                Sequence::kv_head(params.call, h));
    Copy<PTile, kThreads> p_copy;
    Copy<VTile, kThreads> v_copy;
    const auto load = [&](int step, int stage) {
      const unsigned to = copy_to + stage * kStageBytes;
      p_copy.start(to, room.scores + static_cast<long long>(step) * (kKeys * Element::kBytes), room.stride,
                   q0, q_len);
      v_copy.start(to + PTile::kBytes, v, static_cast<int>(params.v_strides.row), step * kKeys, kv_len);
    };
    clear(o);

    constexpr int kAhead = kStages > 1 ? kStages - 1 : 1;  // stages that are on their way
    const int steps = (kv_len + kKeys - 1) / kKeys;
#pragma unroll
    for (int step = 0; step < kAhead; ++step) {
      if (step < steps) load(step, step);
      close_copies();
    }
    int stage = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      if constexpr (kStages == 1) {
        __syncthreads();  // every warp is done with the stage before
        p_copy.settle(copy_to);
        v_copy.settle(copy_to + PTile::kBytes);
      }
      await_copies<kAhead - 1>();
      __syncthreads();
      if (step + kAhead < steps) load(step + kAhead, stage == 0 ? kStages - 1 : stage - 1);
      close_copies();
      multiply(smem, shared, stage * kStageBytes);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }

    const int lane = lane_of_warp();
    Place::for_each_row([&](typename Place::ThreadRow row) {
      SoftmaxRow& state = Place::of_row(softmax, row);
      const int q_idx = q0 + static_cast<int>(Place::first_row()) + Place::row_offset(row);
      state.start();
      if (q_idx >= q_len) return;
      const float* const of_row = room.state(q_idx);
      state.m = of_row[0];
      if (Place::leads_rows(lane)) state.l = of_row[1];
    });
    if constexpr (Hooks::kHasSink) this->add_sink(Hooks::sink(params.call, b, h));
    const bool met_nan = Product::kLosesInfinities && this->meets_nan();
    this->store(params, item, shared);
    if constexpr (Product::kLosesInfinities) {
      if (__any_sync(0xffffffffu, met_nan))
        OddOutputs<Config, Hooks>::restore(params, item, q0 + static_cast<int>(Place::first_row_of_warp()));
    }
  }

  /// O += P V for the keys of the stage at `offset`.
  __device__ __forceinline__ void multiply(unsigned smem, const unsigned char* shared, int offset) {
    const int lane = lane_of_warp();
    const unsigned v_lane = smem + offset + PTile::kBytes + Product::lane_offset_v(lane);
    [[maybe_unused]] const unsigned p_lane =
        smem + offset + Place::first_row_of_warp() * 128 + Product::lane_offset_q(lane);
#pragma unroll
    for (int step = 0; step < kKeys / Product::kDepth; ++step) {
      unsigned p[kMTiles][Product::kPWords];
#pragma unroll
      for (int m = 0; m < kMTiles; ++m) {
        if constexpr (Element::kBytes == 2) {
          // The fragments of Q and of P are alike.
          Product::template load_q<PTile>(p[m], p_lane, m, step);
        } else {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int row = static_cast<int>(Place::first_row()) + Place::row_offset({m, half});
            const int chunk = 2 * step + lane % 4 / 2;
            const auto two = *reinterpret_cast<const float2*>(shared + offset + row * 128 +
                                                              ((chunk ^ (row & 7)) << 4) + lane % 2 * 8);
            Product::place(p[m], 0, half, two.x, two.y);
          }
        }
      }
#pragma unroll
      for (int d = 0; d < kDTiles; d += Product::kColumnTiles)
        Product::template multiply_pv<VTile>(o, d, p, v_lane, step);
    }
  }
};

}  // namespace fa
