// S = Q K^T of one kv tile, from what scores begin with to the largest of each row, and how scores that came
// out NaN are made once more where products lose infinities: in f32 (sm80/tf32x3.cuh).
#pragma once

#include "common/products.cuh"
#include "common/score/score_tile.cuh"
#include "common/softmax.cuh"
#include "params.h"

namespace fa {

template <class Config, class Hooks, class Classes>
struct ScoreProduct : ScoreTile<Config, Hooks, Classes> {
  using Scores = ScoreTile<Config, Hooks, Classes>;
  using Scores::s;
  using typename Scores::Place;
  static constexpr int kMTiles = Place::kMTiles;
  static constexpr int kNTiles = Place::kNTiles;
  using Product = Products<typename Config::Element>;
  using QTile = typename SharedMap<Config, Hooks>::QTile;
  using KTile = typename SharedMap<Config, Hooks>::KTile;
  static constexpr int kKSteps = QTile::kSteps;  // product steps
  static constexpr int
      kUnrolledSteps =  // all where Q's fragments are registers, which have no index at run time
      Config::kQInRegisters ? kKSteps : Product::kUnrolledSteps;

  // Shared-memory addresses of this lane's part of the warp's rows of Q and of the first K buffer.
  unsigned q_lane;
  unsigned k_lane;

  /// Reads Q, so that its room in shared memory is free.
  __device__ __forceinline__ void keep_q() {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int step = 0; step < kKSteps; ++step)
        Product::template load_q<QTile>(q_fragments[m][step], q_lane, m, step);
  }

  /// S += Q K^T for one kv tile.
  __device__ __forceinline__ void multiply_qk(unsigned k_lane_of_stage) {
    if constexpr (kUnrolledSteps == 1) {  // no step shares its place with another
#pragma unroll 1
      for (int step = 0; step < kKSteps; ++step) multiply_step(q_lane, k_lane_of_stage, step);
    } else {
      constexpr int kAtOnce = kUnrolledSteps < kKSteps ? kUnrolledSteps : kKSteps;
#pragma unroll 1
      for (int first = 0; first < kKSteps; first += kAtOnce) {
        // A few steps from there on differ in swizzle bits alone.
        const unsigned q_first = QTile::at(q_lane, 0, first);
        const unsigned k_first = KTile::at(k_lane_of_stage, 0, first);
#pragma unroll
        for (int step = 0; step < kAtOnce; ++step) {
          if (kKSteps % kAtOnce != 0 && first + step >= kKSteps) break;
          multiply_step(q_first, k_first, step);
        }
      }
    }
    if constexpr (Product::kLosesInfinities) restore_infinities(k_lane_of_stage);
  }

  /// The largest score of this thread in each row.
  __device__ __forceinline__ void find_maximum(float (&tile_max)[kMTiles][2]) const {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        tile_max[m][half] = fmaxf(s[m][0][2 * half], s[m][0][2 * half + 1]);
#pragma unroll
        for (int n = 1; n < kNTiles; ++n)
          tile_max[m][half] = fmaxf(tile_max[m][half], fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
      }
  }

 private:
  unsigned q_fragments[Config::kQInRegisters ? kMTiles : 1][Config::kQInRegisters ? kKSteps : 1]
                      [Product::kQWords];

  /// Makes scores that are NaN once more, so that no infinity is lost: a key far below all others is masked
  /// out, not the end of its rows. Tiles of finite numbers pay one comparison for two scores.
  __device__ __forceinline__ void restore_infinities(unsigned k_lane_of_stage) {
    bool lost = false;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; i += 2) lost |= unordered(s[m][n][i], s[m][n][i + 1]);
    if (!__any_sync(0xffffffffu, lost)) return;
#pragma unroll
    for (int n = 0; n < kNTiles; n += 2) {
      float again[kMTiles][2][4] = {};
#pragma unroll(Config::kQInRegisters ? kKSteps : 1)
      for (int step = 0; step < kKSteps; ++step) {
        unsigned q[kMTiles][Product::kQWords];
        read_q(q, q_lane, step);
        Product::template multiply_again<KTile>(again, n, q, k_lane_of_stage, step);
      }
#pragma unroll
      for (int m = 0; m < kMTiles; ++m)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float& x = s[m][n + i / 4][i % 4];
          x = x != x ? again[m][i / 4][i % 4] : x;
        }
    }
  }

  /// What one step's columns add to S.
  __device__ __forceinline__ void multiply_step(unsigned q_from, unsigned k_from, int step) {
    unsigned q[kMTiles][Product::kQWords];
    read_q(q, q_from, step);
#pragma unroll
    for (int n = 0; n < kNTiles; n += 2) Product::template multiply_qk<KTile>(s, n, q, k_from, step);
  }

  /// The fragments of this warp's rows of Q and of step `step`'s columns.
  __device__ __forceinline__ void read_q(unsigned (&q)[kMTiles][Product::kQWords], unsigned q_from,
                                         int step) const {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
      if constexpr (Config::kQInRegisters) {
#pragma unroll
        for (int i = 0; i < Product::kQWords; ++i) q[m][i] = q_fragments[m][step][i];
      } else {
        Product::template load_q<QTile>(q[m], q_from, m, step);
      }
    }
  }
};

}  // namespace fa
