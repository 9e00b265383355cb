// Which keys of a tile a thread's rows list, a bit each (Hooks::kListsKeys). The four lanes that share rows find the words of
// 32 keys by turns, and fetch what the others have found.
#pragma once

#include "common/placement.cuh"
#include "params.h"

namespace fa {

/// `kRows`: of a thread. `kKeys`: of the tile.
template <class Hooks, int kRows, int kKeys>
struct ListedKeys {
  static constexpr int kKeysOfWord = 32;
  static constexpr int kWords = (kKeys + kKeysOfWord - 1) / kKeysOfWord;  // of a row
  static constexpr int kAll = kRows * kWords;
  static constexpr int kLanes = 4;
  static constexpr int kTurns = (kAll + kLanes - 1) / kLanes;

  unsigned mine[kTurns];

  /// `q_idx_of(row)`: the index, below q_len, of the thread's row of that number.
  template <class IndexOf>
  __device__ __forceinline__ void find(const CallParams& call, const typename Hooks::Head& head,
                                       int first_key, IndexOf q_idx_of) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int number = kLanes * turn + static_cast<int>(lane_of_warp()) % kLanes;
      const int at = kAll % kLanes == 0 || number < kAll ? number : kAll - 1;
      mine[turn] =
          Hooks::listed_keys(call, head, q_idx_of(at / kWords), first_key + kKeysOfWord * (at % kWords));
    }
  }

  /// The row's word `word`. All lanes of the warp ask for the same.
  __device__ __forceinline__ unsigned word(int row, int word) const {
    const int at = row * kWords + word;
    return __shfl_sync(0xffffffffu, mine[at / kLanes],
                       static_cast<int>(lane_of_warp()) / kLanes * kLanes + at % kLanes);
  }
};

}  // namespace fa
