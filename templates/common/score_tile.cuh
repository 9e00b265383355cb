// The hooks on one kv tile of scores, as the warps of a CTA hold it: where each element stands, and how a
// hook gets at all of them: element by element, once a diagonal (what depends on q_idx - kv_idx alone), or in
// a loop that writes down bits (a mask of many operations).
#pragma once

#include "common/hooks.cuh"
#include "common/linear_addend.cuh"
#include "common/softmax.cuh"
#include "common/tile_walk.cuh"
#include "params.h"

namespace fa {

/// S of one kv tile in this thread: element s[m][n][2 * half + pair] is row 16 m + 8 half + lane / 4 of the
/// warp's, column 8 n + 2 (lane % 4) + pair of the tile.
template <class Config, class Hooks, class Classes>
struct ScoreTile {
  static constexpr int kTileKv = Config::kTileKv;
  static constexpr int kRowsPerWarp = Config::kTileQ / Config::kWarps;
  static constexpr int kMTiles = kRowsPerWarp / 16;  // 16-row mma tiles of a warp
  static constexpr int kNTiles = kTileKv / 8;        // 8-column mma tiles of S
  static_assert(kRowsPerWarp % 16 == 0 && kTileKv % 16 == 0);

  static constexpr bool kIdentity = Hooks::kScoreForm == ScoreForm::identity;
  // Whether a plain tile adds one number to all of its logits, which comes in with their exponentials.
  static constexpr bool kHasShift = Classes::kHasScoreClass;
  // Whether scores stay raw until their exponentials, where the scale comes in. Other hooks leave finished
  // logits.
  static constexpr bool kIsRaw = kIdentity || kHasShift || Hooks::kAddendIsLinear;
  static_assert(!kHasShift || !Hooks::kAddendIsLinear);
  // Whether the walk tells what tiles lose nothing, to the mask or to kv_len.
  static constexpr bool kWalkTells = Classes::kHasTileClass || Classes::kHasScoreClass;
  static_assert(!kHasShift || Hooks::kScoreForm == ScoreForm::affine);
  // Whether a branch keeps the columns of a tile apart. Without it ptxas starts the reads or the arithmetic
  // of all columns first and has no registers for the results.
  static constexpr bool kColumnsApart = Hooks::kColumnReads || (!kIdentity && !Hooks::kAddendIsLinear);

  // Whether the compiler may keep the q tile's number (block_q_tile): where rows are asked for in every tile,
  // to find it anew costs more than it frees. With a score class or a linear addend, they are not.
  static constexpr bool kHooksKeepQTile = !kIsRaw || Config::kDropout;

  float s[kMTiles][kNTiles][4];  // scores, then probabilities
  typename Hooks::Row rows[kMTiles][2];

  /// What the hooks know of this head. What is cheap to find is found anew in every tile: kept, it would take
  /// registers that the products need.
  __device__ __forceinline__ typename Hooks::Head find_head(const ForwardParams& params) const {
    const auto [b, h] = block_head(params);
    return Hooks::head(params, b, h);
  }

  /// The first row of this CTA's q tile.
  __device__ __forceinline__ int first_row(const ForwardParams& params) const {
    return block_q_tile<kHooksKeepQTile>(params, Config::kTileQ) * Config::kTileQ;
  }

  /// The same of this thread's rows.
  __device__ __forceinline__ void find_rows(const ForwardParams& params, const typename Hooks::Head& head) {
    unsigned thread = threadIdx.x;
    if constexpr (Hooks::kRowIsCheap)
      asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));  // nor is this kept
    const int first = first_row(params) + static_cast<int>(thread / 32 * kRowsPerWarp + thread % 32 / 4);
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int q_idx = first + m * 16 + half * 8;
        if constexpr (Hooks::kRowReads) q_idx = min(q_idx, params.q_len - 1);
        rows[m][half] = Hooks::row(params, head, q_idx, static_cast<float>(q_idx));
      }
  }

  /// Calls `body(x, row, column)` on every element of S; `kv0` is the tile's first key.
  template <class Body>
  __device__ __forceinline__ void for_each_element(const ForwardParams& params,
                                                   const typename Hooks::Head& head, int kv0, Body body) {
    const int first = kv0 + 2 * (threadIdx.x % 4);
    const float first_f = static_cast<float>(first);
#pragma unroll
    for (int n = 0; n < kNTiles; ++n) {
      if (kColumnsApart && kv0 + n * 8 >= params.kv_len) break;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const int offset = n * 8 + pair;
        int kv_idx = first + offset;
        float kv_idx_f = first_f + static_cast<float>(offset);  // exact: lengths stay below 2^24
        if constexpr (Hooks::kColumnReads) {
          kv_idx = min(kv_idx, params.kv_len - 1);
          kv_idx_f = fminf(kv_idx_f, static_cast<float>(params.kv_len - 1));
        }
        const typename Hooks::Column column = Hooks::column(params, head, kv_idx, kv_idx_f);
#pragma unroll
        for (int m = 0; m < kMTiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half) body(s[m][n][2 * half + pair], rows[m][half], column);
      }
    }
  }

  /// q_idx - kv_idx `offset` rows below this warp's first element of the tile, within what exists.
  __device__ __forceinline__ int distance_at(const ForwardParams& params, int kv0, int offset) {
    const int of_warp = first_row(params) + threadIdx.x / 32 * kRowsPerWarp;
    return min(max(of_warp - kv0 + offset, 1 - params.kv_len), params.q_len - 1);
  }

  /// Calls `body(x, of(distance))` on every element of S, distance = q_idx - kv_idx, with `of` evaluated once
  /// a lane for two diagonals of 8 x 8 blocks: those meet 23 distances, one a lane, and lanes fetch theirs.
  template <class Of, class Body>
  __device__ __forceinline__ void for_each_diagonal(const ForwardParams& params, int kv0, Of of, Body body) {
    const int lane = threadIdx.x % 32;
    const int from = 8 + lane / 4 - 2 * (lane % 4);
#pragma unroll
    for (int pair = -(kNTiles / 2); pair < kMTiles; ++pair) {
      const int first_block = pair < 0 ? -2 * pair - 1 : 0;  // of columns
      if (kColumnsApart && kv0 + 8 * first_block >= params.kv_len) continue;
      const float mine = of(distance_at(params, kv0, 16 * pair + lane - 8));
#pragma unroll
      for (int side = 0; side < 2; ++side)
#pragma unroll
        for (int column = 0; column < 2; ++column) {
          const float value = __shfl_sync(0xffffffffu, mine, from + 8 * side - column);
#pragma unroll
          for (int block = 0; block < 2 * kMTiles; ++block) {  // of eight rows
            const int n = block - (2 * pair + side);
            if (n >= 0 && n < kNTiles) body(s[block / 2][n][2 * (block % 2) + column], value);
          }
        }
    }
  }

  /// The mask, where its code is long: a loop that is not unrolled writes down what is kept, and unrolled
  /// code reads it. A loop cannot index the scores, which live in registers; unrolled, the mask's code would
  /// be there once for each of a thread's elements, and half of the compile time would go there.
  __device__ __forceinline__ void apply_heavy_mask(const ForwardParams& params,
                                                   const typename Hooks::Head& head, int kv0) {
    constexpr int kBits = 2 * kMTiles * 2;  // of one 8-column mma tile in this thread
    constexpr int kGroup = kNTiles * kBits <= 64 ? kNTiles : 64 / kBits;  // mma tiles a loop serves
    static_assert(kNTiles % kGroup == 0);
#pragma unroll
    for (int n0 = 0; n0 < kNTiles; n0 += kGroup) {
      unsigned long long kept = 0;
#pragma unroll 1
      for (int n = 0; n < kGroup; ++n) {
        unsigned bits = 0;
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          int kv_idx = kv0 + 2 * (threadIdx.x % 4) + (n0 + n) * 8 + pair;
          if constexpr (Hooks::kColumnReads) kv_idx = min(kv_idx, params.kv_len - 1);
          const typename Hooks::Column column =
              Hooks::column(params, head, kv_idx, static_cast<float>(kv_idx));
#pragma unroll
          for (int m = 0; m < kMTiles; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half)
              if (Hooks::mask(params, head, rows[m][half], column)) bits |= 1u << ((m * 2 + half) * 2 + pair);
        }
        kept |= static_cast<unsigned long long>(bits) << (n * kBits);
      }
#pragma unroll
      for (int n = 0; n < kGroup; ++n)
#pragma unroll
        for (int m = 0; m < kMTiles; ++m)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if ((kept >> (n * kBits + m * 4 + i) & 1) == 0) s[m][n0 + n][i] = negative_infinity();
    }
  }

  /// Scores of the tile's columns from `end` on to -inf.
  __device__ __forceinline__ void drop_from(int end) {
    const int left = end - 2 * static_cast<int>(threadIdx.x % 4);
#pragma unroll
    for (int n = 0; n < kNTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (n * 8 + i % 2 >= left)
#pragma unroll
          for (int m = 0; m < kMTiles; ++m) s[m][n][i] = negative_infinity();
  }

  /// Scores to base-2 logits (less the scale and the returned number, where they stay raw), masked ones to
  /// -inf. `slope` is a linear addend's, of raw scores.
  __device__ __forceinline__ float apply_hooks(const ForwardParams& params, typename Hooks::Head head,
                                               WalkStep step, [[maybe_unused]] float slope) {
    using Row = typename Hooks::Row;
    using Column = typename Hooks::Column;
    const int kv0 = step.tile() * kTileKv;
    float shift = 0.0f;
    const auto find_cheap_head = [&] {
      if constexpr (Hooks::kHeadIsCheap) head = find_head(params);
    };
    const auto find_cheap_rows = [&] {
      if constexpr (Hooks::kRowIsCheap) find_rows(params, head);
    };
    // Values of the distance are found without rows, and linear addends' columns.
    constexpr bool kScoreAsksRows = !kIdentity && !Hooks::kAddendIsRelative && !Hooks::kAddendIsLinear;
    if constexpr (!kIdentity && !Hooks::kAddendIsLinear) find_cheap_head();
    if constexpr (kScoreAsksRows) find_cheap_rows();
    if constexpr (Hooks::kScoreForm == ScoreForm::general) {
      for_each_element(params, head, kv0, [&](float& x, const Row& row, const Column& column) {
        x = Hooks::logit(x, params, head, row, column);
      });
    } else if constexpr (Hooks::kAddendIsLinear) {
      LinearAddend<Hooks>::add_columns(s, slope);
    } else if constexpr (kHasShift && Hooks::kAddendIsRelative) {
      const float inverse = 1.0f / params.scale_log2;
      const auto relative = [&](int distance) { return Hooks::relative_addend(params, head, distance); };
      if (step.plain()) {
        shift = relative(distance_at(params, kv0, 0));
      } else {
        for_each_diagonal(
            params, kv0, [&](int distance) { return relative(distance) * inverse; },
            [](float& x, float addend) { x += addend; });
      }
    } else if constexpr (kHasShift) {
      if (step.plain()) {
        const Column first = Hooks::column(params, head, kv0, static_cast<float>(kv0));
        shift = Hooks::addend(params, head, rows[0][0], first);
      } else {
        const float inverse = 1.0f / params.scale_log2;
        for_each_element(params, head, kv0, [&](float& x, const Row& row, const Column& column) {
          x = fmaf(Hooks::addend(params, head, row, column), inverse, x);
        });
      }
    } else if constexpr (Hooks::kAddendIsRelative) {
      const Column first = Hooks::column(params, head, kv0, static_cast<float>(kv0));
      const float multiplier = Hooks::multiplier(params, head, {}, first);  // uniform
      for_each_diagonal(
          params, kv0, [&](int distance) { return Hooks::relative_addend(params, head, distance); },
          [&](float& x, float addend) { x = fmaf(multiplier, x, addend); });
    } else if constexpr (Hooks::kScoreForm == ScoreForm::affine) {
      for_each_element(params, head, kv0, [&](float& x, const Row& row, const Column& column) {
        x = fmaf(Hooks::multiplier(params, head, row, column), x, Hooks::addend(params, head, row, column));
      });
    }
    if (kWalkTells && step.full()) return shift;
    const bool is_cut = kv0 + kTileKv > params.kv_len;  // asked here: after the mask, ptxas spills more
    if constexpr (Hooks::kHasMask) {
      if constexpr (kIdentity || Hooks::kAddendIsLinear) find_cheap_head();
      if constexpr (Hooks::kMaskIsRelative) {
        const auto most = [&](int distance) {
          return Hooks::relative_mask(params, head, distance) ? -negative_infinity() : negative_infinity();
        };
        for_each_diagonal(params, kv0, most, [](float& x, float most) { x = fminf(x, most); });
      } else {
        if constexpr (!kScoreAsksRows) find_cheap_rows();
        if constexpr (Hooks::kMaskIsHeavy) {
          apply_heavy_mask(params, head, kv0);
        } else {
          for_each_element(params, head, kv0, [&](float& x, const Row& row, const Column& column) {
            x = Hooks::mask(params, head, row, column) ? x : negative_infinity();
          });
        }
      }
    }
    if (is_cut) drop_from(params.kv_len - kv0);
    return shift;
  }
};

}  // namespace fa
