// Which keys of a warp's tile its rows list (Hooks::kListsKeys), in the order in which Elements visits them: 8 columns of the
// tile at a time. The columns are keys, or query rows where keys go down.
#pragma once

#include "common/placement.cuh"
#include "common/score/listed_keys.cuh"
#include "params.h"

namespace fa {

/// Of 16 kM rows of a tile and 8 kN columns. `q_idx_of(row)`: the index, below q_len, of that row of Q, from the tile's first
/// on. All lanes of the warp call `find`, then for each 8 columns, in order, `begin_group`, then for each of a lane's two `begin_pair`.
template <bool kKeysDown, class Hooks, int kM, int kN>
struct ListedOfTile;

/// Keys go down: a lane finds the words of every 32nd row, and the lanes that meet the row fetch them.
template <class Hooks, int kM, int kN>
struct ListedOfTile<true, Hooks, kM, kN> {
  static constexpr int kWords = (kM + 1) / 2;  // of 32 keys
  static constexpr int kTurns = (kN + 3) / 4;  // of 32 rows

  unsigned of_lane[kTurns][kWords];
  unsigned of_row[kWords];  // from this lane's first key on

  template <class IndexOf>
  __device__ __forceinline__ void find(const CallParams& call, const typename Hooks::Head& head,
                                       int first_key, IndexOf q_idx_of) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn)
#pragma unroll
      for (int i = 0; i < kWords; ++i)
        of_lane[turn][i] = Hooks::listed_keys(
            call, head, q_idx_of(32 * turn + static_cast<int>(lane_of_warp())), first_key + 32 * i);
  }
  __device__ __forceinline__ void begin_group(int) {}
  __device__ __forceinline__ void begin_pair(int n, int pair) {
    const int lane = static_cast<int>(lane_of_warp());
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      of_row[i] =
          __shfl_sync(0xffffffffu, of_lane[n / 4][i], 8 * (n % 4) + 2 * (lane % 4) + pair) >> lane / 4;
  }
  __device__ __forceinline__ bool is_listed(int m, int half, int) const {
    return (of_row[m / 2] & 1u << (16 * (m % 2) + 8 * half)) != 0;
  }
};

/// Rows go down.
template <class Hooks, int kM, int kN>
struct ListedOfTile<false, Hooks, kM, kN> {
  static constexpr int kRows = 2 * kM;  // of a thread

  ListedKeys<Hooks, kRows, 8 * kN> listed;
  unsigned words[kRows];  // from the lane's first key of the group on

  template <class IndexOf>
  __device__ __forceinline__ void find(const CallParams& call, const typename Hooks::Head& head,
                                       int first_key, IndexOf q_idx_of) {
    listed.find(call, head, first_key,
                [&](int row) { return q_idx_of(static_cast<int>(lane_of_warp()) / 4 + 8 * row); });
  }
  __device__ __forceinline__ void begin_group(int n) {
#pragma unroll
    for (int row = 0; row < kRows; ++row)
      words[row] = n % 4 == 0 ? listed.word(row, n / 4) >> (2 * (static_cast<int>(lane_of_warp()) % 4))
                              : words[row] >> 8;
  }
  __device__ __forceinline__ void begin_pair(int, int) {}
  __device__ __forceinline__ bool is_listed(int m, int half, int pair) const {
    return (words[2 * m + half] & 1u << pair) != 0;
  }
};

/// Where rows list none.
struct NoListedOfTile {};

}  // namespace fa
