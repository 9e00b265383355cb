// Which scores of a tile a thread holds where products of m16n8 add them up (wgmma's accumulators, too, are
// laid out like this). Hooks, masks and dropout get at a tile through the functions of this struct alone, so
// that another layout, as a transposed tile, is another struct with the same functions.
#pragma once

#include "common/placement.cuh"

namespace fa {

/// Element s[m][n][2 * half + pair] is row 16 m + 8 half + lane / 4 of the warp's rows, column
/// 8 n + 2 (lane % 4) + pair of the tile. A thread's rows are numbered 2 m + half; its columns come in groups
/// of two neighbours, numbered n.
template <int kRowsPerWarp, int kTileKv>
struct MmaPlace {
  static_assert(kRowsPerWarp % 16 == 0 && kTileKv % 16 == 0);
  static constexpr int kMTiles = kRowsPerWarp / 16;  // 16-row mma tiles of a warp
  static constexpr int kNTiles = kTileKv / 8;        // 8-column mma tiles
  using Scores = float[kMTiles][kNTiles][4];

  /// One of the rows of a thread.
  struct ThreadRow {
    int m, half;

    static __device__ __forceinline__ constexpr ThreadRow of(int number) { return {number / 2, number % 2}; }
    __device__ __forceinline__ constexpr int number() const { return 2 * m + half; }
  };
  static constexpr int kRows = 2 * kMTiles;  // of a thread
  static constexpr int kGroups = kNTiles;    // of columns of a thread
  static constexpr int kColumnsOfGroup = 2;  // side by side, the first of an even column
  static constexpr int kScores = kRows * kGroups * kColumnsOfGroup;

  /// Rows of the tile: the first of the warp's, and the first of the thread's.
  static __device__ __forceinline__ unsigned first_row_of_warp() { return warp_of_cta() * kRowsPerWarp; }
  static __device__ __forceinline__ unsigned first_row(unsigned thread = thread_of_cta()) {
    return thread / 32 * kRowsPerWarp + thread % 32 / 4;
  }
  /// The thread's first row, from the warp's.
  static __device__ __forceinline__ int row_of_lane(int lane) { return lane / 4; }
  /// The column of the tile that is the thread's first.
  static __device__ __forceinline__ unsigned first_column() { return 2 * (lane_of_warp() % 4); }
  /// Whether the lane's thread is the one that speaks for its rows, of the four that share them.
  static __device__ __forceinline__ bool leads_rows(int lane) { return lane % 4 == 0; }

  /// How far the thread's rows and columns are from its first ones.
  static __device__ __forceinline__ constexpr int row_offset(ThreadRow row) {
    return 16 * row.m + 8 * row.half;
  }
  static __device__ __forceinline__ constexpr int column_offset(int group, int column) {
    return 8 * group + column;
  }

  template <class S>
  static __device__ __forceinline__ auto& score(S& s, ThreadRow row, int group, int column) {
    return s[row.m][group][2 * row.half + column];
  }

  /// A value for each of the thread's rows.
  template <class T>
  using OfRows = T[kMTiles][2];
  template <class T>
  static __device__ __forceinline__ T& of_row(T (&values)[kMTiles][2], ThreadRow row) {
    return values[row.m][row.half];
  }
  template <class T>
  static __device__ __forceinline__ const T& of_row(const T (&values)[kMTiles][2], ThreadRow row) {
    return values[row.m][row.half];
  }

  /// `body(row)` on the thread's rows.
  template <class Body>
  static __device__ __forceinline__ void for_each_row(Body body) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) body(ThreadRow{m, half});
  }

  template <class Body>
  static __device__ __forceinline__ void for_each(Scores& s, Body body) {
    for_each(s, s, [&](float& x, float) { body(x); });
  }
  /// `body(x, y)` on every element of s and the same one of t.
  template <class Body>
  static __device__ __forceinline__ void for_each(Scores& s, const Scores& t, Body body) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) body(s[m][n][i], t[m][n][i]);
  }

  /// `body(x, column_offset)` on every element, column after column.
  template <class Body>
  static __device__ __forceinline__ void for_each_column(Scores& s, Body body) {
#pragma unroll
    for (int n = 0; n < kNTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int m = 0; m < kMTiles; ++m) body(s[m][n][i], column_offset(n, i % 2));
  }

  /// Calls `body(x, of(offset))` on every element, `offset` being q_idx - kv_idx less that of the warp's
  /// first element. `of` is evaluated once a lane for two diagonals of 8 x 8 blocks: those meet 23
  /// distances, one a lane, and lanes fetch theirs. A loop evaluates all of them first if `kIsRolled`:
  /// one copy of the code of `of`. Blocks from column `c` of the tile on are left out unless
  /// `reaches(c)`.
  template <bool kIsRolled, class Of, class Reaches, class Body>
  static __device__ __forceinline__ void for_each_diagonal(Scores& s, Of of, Reaches reaches, Body body) {
    const int lane = static_cast<int>(lane_of_warp());
    const int from = 8 + lane / 4 - 2 * (lane % 4);
    float values[kIsRolled ? kDiagonalPairs : 1];
    if constexpr (kIsRolled) {
#pragma unroll 1
      for (int i = 0; i < kDiagonalPairs; ++i) values[i] = of(16 * (kFirstPair + i) + lane - 8);
    }
#pragma unroll
    for (int pair = kFirstPair; pair < kMTiles; ++pair) {
      const int first_block = pair < 0 ? -2 * pair - 1 : 0;  // of columns
      if (!reaches(8 * first_block)) continue;
      const float mine = kIsRolled ? values[kIsRolled ? pair - kFirstPair : 0] : of(16 * pair + lane - 8);
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

  static constexpr int kFirstPair = -(kNTiles / 2);
  static constexpr int kDiagonalPairs = kMTiles - kFirstPair;  // how often `of` is evaluated
};

}  // namespace fa
