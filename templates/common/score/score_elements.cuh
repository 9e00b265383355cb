// One kv tile of scores, as the warps of a CTA hold it: where each element stands, and how a hook gets at all
// of them: element by element or once a diagonal (what depends on q_idx - kv_idx alone). How often the hook's
// code is there follows from its size: a tile has up to 128 elements a thread, and NVRTC's time grows with
// the instructions.
#pragma once

#include "common/products.cuh"
#include "common/score/element_product.cuh"
#include "common/score/hooks.cuh"
#include "common/score/staged_reads.cuh"
#include "common/softmax.cuh"
#include "common/tiles/shared_map.cuh"
#include "common/tiles/tile_walk.cuh"
#include "params.h"

namespace fa {

/// How often the code of one element is there: for each, for those of one 8-column mma tile (a loop visits
/// the others, and scores rotate through its registers), or once (a loop over scores that lie in local
/// memory).
enum class Copies { all, of_column_tile, one };

/// S of one kv tile in this thread: element s[m][n][2 * half + pair] is row 16 m + 8 half + lane / 4 of the
/// warp's, column 8 n + 2 (lane % 4) + pair of the tile.
template <class Config, class Hooks, class Classes>
struct ScoreElements {
  static constexpr int kTileKv = Config::kTileKv;
  static constexpr int kRowsPerWarp = Config::kTileQ / Config::kWarps;
  static constexpr int kMTiles = kRowsPerWarp / 16;  // 16-row mma tiles of a warp
  static constexpr int kNTiles = kTileKv / 8;        // 8-column mma tiles of S
  static_assert(kRowsPerWarp % 16 == 0 && kTileKv % 16 == 0);

  static constexpr bool kIdentity = Hooks::kScoreForm == ScoreForm::identity;
  // Whether a plain tile adds one number to all of its logits, which comes in with their exponentials.
  static constexpr bool kHasShift = Classes::kHasScoreClass;
  static_assert(!kHasShift || Hooks::kScoreForm == ScoreForm::affine);
  // Whether scores stay raw until their exponentials, where the scale comes in. Other hooks leave finished
  // logits.
  static constexpr bool kIsRaw = kIdentity || kHasShift || Hooks::kAddendIsLinear || Hooks::kAddendIsProduct;
  static_assert(!kHasShift || !Hooks::kAddendIsLinear);
  // Whether a branch keeps the columns of a tile apart. Without it ptxas starts the reads or the arithmetic
  // of all columns first and has no registers for the results. What comes from shared memory is not far.
  static constexpr bool kColumnsApart = (Hooks::kColumnReads || (!kIdentity && !Hooks::kAddendIsLinear)) &&
                                        !(Hooks::kStagesColumns && !Hooks::kElementReads);
  // Whether the compiler may keep the q tile's number (block_q_tile): where rows are asked for in every tile,
  // to compute it again costs more than it frees. With a score class or a linear addend, they are not.
  static constexpr bool kHooksKeepQTile = !kIsRaw || Config::kDropout;

  using Reads = StagedReads<Config, Hooks>;

  static constexpr int kMostCode = 3000;  // instructions of one hook: a third of a second of NVRTC's time

  /// How often code of `size` instructions an element, beside that of rows and columns, is there.
  static __device__ constexpr Copies copies_of(int size) {
    const int of_column_tile = 4 * kMTiles * size + 2 * Hooks::kColumnSize;
    return of_column_tile * kNTiles <= kMostCode ? Copies::all
           : of_column_tile <= kMostCode         ? Copies::of_column_tile
                                                 : Copies::one;
  }
  static constexpr Copies kScoreCopies = copies_of(Hooks::kScoreSize);
  static constexpr Copies kMaskCopies = copies_of(Hooks::kMaskSize);
  // Whether scores begin with what score_mod adds, a table's tile, and not with 0: its instructions then run
  // beside the first products. (f32 adds its products up elsewhere.)
  static constexpr bool kBeginsWithAddend = Hooks::kAddendIsProduct && Hooks::kStagesElements && !kHasShift &&
                                            kScoreCopies == Copies::all &&
                                            Products<typename Config::Element>::kStagesOutput;
  // Whether that takes products alone (common/score/element_product.cuh).
  static constexpr bool kBeginsByProduct = kBeginsWithAddend && Hooks::kAddendTermIsElement;
  using Begin = ElementProduct<Reads, typename Hooks::StagedType>;

  static constexpr bool kRowIsLong = 2 * kMTiles * Hooks::kRowSize > kMostCode;

  float s[kMTiles][kNTiles][4];  // scores, then probabilities
  typename Hooks::Row rows[kMTiles][2];

  /// What the hooks know of this head. What is cheap is computed again in every tile: kept, it would take
  /// registers that the products need.
  __device__ __forceinline__ typename Hooks::Head find_head(const ForwardParams& params) const {
    const auto [b, h] = block_head(params);
    return Hooks::head(params.call, b, h);
  }

  /// The same, in a tile: `kept` where it is not cheap.
  __device__ __forceinline__ typename Hooks::Head head_of_tile(const ForwardParams& params,
                                                               const typename Hooks::Head& kept) const {
    if constexpr (Hooks::kHeadIsCheap) return find_head(params);
    return kept;
  }

  /// The first row of this CTA's q tile.
  __device__ __forceinline__ int first_row(const ForwardParams& params) const {
    return block_q_tile<kHooksKeepQTile>(params, Config::kTileQ) * Config::kTileQ;
  }

  /// This thread's first row.
  __device__ __forceinline__ int first_row_of_thread(const ForwardParams& params) const {
    unsigned thread = threadIdx.x;
    if constexpr (Hooks::kRowIsCheap)
      asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));  // nor is this kept
    return first_row(params) + static_cast<int>(thread / 32 * kRowsPerWarp + thread % 32 / 4);
  }

  static __device__ __forceinline__ typename Hooks::Row row_at(const ForwardParams& params,
                                                               const typename Hooks::Head& head, int q_idx) {
    if constexpr (Hooks::kRowReads) q_idx = min(q_idx, params.call.q_len - 1);
    return Hooks::row(params.call, head, q_idx, static_cast<float>(q_idx));
  }

  /// What the hooks know of this thread's rows.
  __device__ __forceinline__ void find_rows(const ForwardParams& params, const typename Hooks::Head& head) {
    const int first = first_row_of_thread(params);
    if constexpr (kRowIsLong) {
      rotate_rows([&](int i, typename Hooks::Row& row) { row = row_at(params, head, first + i * 8); });
    } else {
#pragma unroll
      for (int m = 0; m < kMTiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) rows[m][half] = row_at(params, head, first + m * 16 + half * 8);
    }
  }

  /// Calls `body(x, row, column)` on every element of S; `kv0` is the tile's first key.
  template <Copies kCopies, bool kApart = kColumnsApart, class Body>
  __device__ __forceinline__ void for_each_element(const ForwardParams& params,
                                                   const typename Hooks::Head& head, int kv0, Body body) {
    const int first = kv0 + 2 * (threadIdx.x % 4);
    const float first_f = static_cast<float>(first);
    if constexpr (kCopies == Copies::one) {
      for_each_in_memory(params, head, first, body);
    } else if constexpr (kCopies == Copies::of_column_tile) {
#pragma unroll 1
      for (int n = 0; n < kNTiles; ++n) {
        if (kv0 + n * 8 < params.call.kv_len)
          for_each_of_column_tile(params, head, 0, first, first_f, n * 8, body);
        rotate_column_tiles();
      }
    } else {
#pragma unroll
      for (int n = 0; n < kNTiles; ++n) {
        if (kApart && kv0 + n * 8 >= params.call.kv_len) break;
        for_each_of_column_tile(params, head, n, first, first_f, n * 8, body);
      }
    }
  }

  /// q_idx - kv_idx `offset` rows below this warp's first element of the tile, within what exists.
  __device__ __forceinline__ int distance_at(const ForwardParams& params, int kv0, int offset) {
    const int of_warp = first_row(params) + threadIdx.x / 32 * kRowsPerWarp;
    return min(max(of_warp - kv0 + offset, 1 - params.call.kv_len), params.call.q_len - 1);
  }

  /// Calls `body(x, of(distance))` on every element of S, distance = q_idx - kv_idx, with `of` evaluated once
  /// a lane for two diagonals of 8 x 8 blocks: those meet 23 distances, one a lane, and lanes fetch theirs.
  template <int kSize, class Of, class Body>
  __device__ __forceinline__ void for_each_diagonal(const ForwardParams& params, int kv0, Of of, Body body) {
    const int lane = threadIdx.x % 32;
    const int from = 8 + lane / 4 - 2 * (lane % 4);
    constexpr int kFirst = -(kNTiles / 2);
    constexpr int kPairs = kMTiles - kFirst;
    constexpr bool kIsLong = kPairs * kSize > kMostCode;
    float values[kIsLong ? kPairs : 1];
    if constexpr (kIsLong) {
#pragma unroll 1
      for (int i = 0; i < kPairs; ++i) values[i] = of(distance_at(params, kv0, 16 * (kFirst + i) + lane - 8));
    }
#pragma unroll
    for (int pair = kFirst; pair < kMTiles; ++pair) {
      const int first_block = pair < 0 ? -2 * pair - 1 : 0;  // of columns
      if (kColumnsApart && kv0 + 8 * first_block >= params.call.kv_len) continue;
      const float mine =
          kIsLong ? values[kIsLong ? pair - kFirst : 0] : of(distance_at(params, kv0, 16 * pair + lane - 8));
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

  static __device__ __forceinline__ const unsigned char* staged() {
    extern __shared__ __align__(1024) unsigned char shared[];
    return shared + SharedMap<Config, Hooks>::kReadsOffset;
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

 private:
  static __device__ __forceinline__ void clamp_column(const ForwardParams& params, int& kv_idx,
                                                      float& kv_idx_f) {
    kv_idx = min(kv_idx, params.call.kv_len - 1);
    kv_idx_f = fminf(kv_idx_f, static_cast<float>(params.call.kv_len - 1));
  }

  static __device__ __forceinline__ typename Hooks::Column column_at(const ForwardParams& params,
                                                                     const typename Hooks::Head& head,
                                                                     int kv_idx, float kv_idx_f) {
    if constexpr (Hooks::kColumnReads) clamp_column(params, kv_idx, kv_idx_f);
    return Hooks::column(params.call, head, kv_idx, kv_idx_f);
  }

  /// Column kv_idx, which is `offset` columns from this thread's first one.
  static __device__ __forceinline__ typename Hooks::Column column_of_tile(const ForwardParams& params,
                                                                          const typename Hooks::Head& head,
                                                                          int kv_idx, float kv_idx_f,
                                                                          int offset) {
    if constexpr (Reads::kColumns) {
      if constexpr (Hooks::kElementReads) clamp_column(params, kv_idx, kv_idx_f);
      return Hooks::from_stage(Reads::column(staged(), 2 * (threadIdx.x % 4) + offset), kv_idx, kv_idx_f);
    } else {
      return column_at(params, head, kv_idx, kv_idx_f);
    }
  }

  /// Of the 8-column mma tile that lies at place `n` now, `offset` columns from the thread's first one.
  template <class Body>
  __device__ __forceinline__ void for_each_of_column_tile(const ForwardParams& params,
                                                          const typename Hooks::Head& head, int n, int first,
                                                          float first_f, int offset, Body body) {
    const auto column = [&](int pair) {
      return column_of_tile(params, head, first + (offset + pair),
                            first_f + static_cast<float>(offset + pair),  // exact: lengths stay below 2^24
                            offset + pair);
    };
    if constexpr (Reads::kElements) {
      typename Hooks::Column columns[2] = {column(0), column(1)};
      const int row = threadIdx.x / 32 * kRowsPerWarp + threadIdx.x % 32 / 4;
#pragma unroll
      for (int m = 0; m < kMTiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto two = Reads::pair(staged(), row + 16 * m + 8 * half, 2 * (threadIdx.x % 4) + offset);
#pragma unroll
          for (int pair = 0; pair < 2; ++pair) {
            columns[pair].staged = {true, two.values[pair]};
            body(s[m][n][2 * half + pair], rows[m][half], columns[pair]);
          }
        }
    } else {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const typename Hooks::Column of_pair = column(pair);
#pragma unroll
        for (int m = 0; m < kMTiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half) body(s[m][n][2 * half + pair], rows[m][half], of_pair);
      }
    }
  }

  /// Moves each column tile's scores to the place of the one before; the first goes to the end.
  __device__ __forceinline__ void rotate_column_tiles() {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float first = s[m][0][i];
#pragma unroll
        for (int n = 1; n < kNTiles; ++n) s[m][n - 1][i] = s[m][n][i];
        s[m][kNTiles - 1][i] = first;
      }
  }

  /// `body(i, row)` on every row, number i counting eights of rows, by one copy of its code.
  template <class Body>
  __device__ __forceinline__ void rotate_rows(Body body) {
#pragma unroll 1
    for (int i = 0; i < 2 * kMTiles; ++i) {
      body(i, rows[0][0]);
      const typename Hooks::Row first = rows[0][0];
#pragma unroll
      for (int j = 1; j < 2 * kMTiles; ++j) rows[(j - 1) / 2][(j - 1) % 2] = rows[j / 2][j % 2];
      rows[kMTiles - 1][1] = first;
    }
  }

  /// One copy of the code of element, row and column: for hooks so long that nothing else matters.
  template <class Body>
  __device__ __forceinline__ void for_each_in_memory(const ForwardParams& params,
                                                     const typename Hooks::Head& head, int first_column,
                                                     Body body) {
    constexpr int kElements = kMTiles * kNTiles * 4;
    float in_memory[kElements];
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) in_memory[(m * kNTiles + n) * 4 + i] = s[m][n][i];
    const int first = first_row_of_thread(params);
#pragma unroll 1
    for (int e = 0; e < kElements; ++e) {
      const int q_idx = first + e / (4 * kNTiles) * 16 + e / 2 % 2 * 8;
      const int kv_idx = first_column + e / 4 % kNTiles * 8 + e % 2;
      body(in_memory[e], row_at(params, head, q_idx),
           column_at(params, head, kv_idx, static_cast<float>(kv_idx)));
    }
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) s[m][n][i] = in_memory[(m * kNTiles + n) * 4 + i];
  }
};

}  // namespace fa
