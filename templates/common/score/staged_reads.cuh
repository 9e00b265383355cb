// Reads of captured tensors that run a tile ahead, into shared memory. A hook that reads memory for each
// score waits for it, column after column, for there are no registers to read ahead into.
//
// Columns   what `Hooks::column` finds is found once a key by one thread, not by all eight rows of a quad's
//           column: while O += P V runs for the tile before, in two stages right before it.
// Elements  of one table that is read at [.., q_idx, kv_idx]: its tile comes in by asynchronous copies, like
//           K's (common/score/table_copies.cuh). Only where there are such copies (sm_80 and later).
//
// Both lie in one buffer each. In one stage, what the hooks of a tile read is read before the barrier that V's arrival
// needs, what is written for the next tile is written after it, and K's barrier stands between that and the
// next hooks; in two, a barrier says that all warps have read. Elements have a second buffer in two stages where there is
// room, and in one where a CTA has an SM to itself, and nobody works while it waits: their copy then has a whole step.
// Where warps of their own copy (sm_90), a tile of elements arrives with the K of its tile and is given back with it, and
// has as many buffers as K where there is room.
#pragma once

#include "common/placement.cuh"
#include "common/score/hooks.cuh"
#include "params.h"

namespace fa {

template <class Config, class Hooks>
struct StagedReads {
  using Column = typename Hooks::StagedColumn;
  using Value = typename Hooks::StagedValue;  // of one element
  static constexpr bool kColumns = Hooks::kStagesColumns;
  static constexpr bool kElements = Hooks::kStagesElements;
  static constexpr bool kAny = kColumns || kElements;
  static constexpr int kThreads = Config::kWarps * 32;
  static constexpr int kTileKv = Config::kTileKv;

  static constexpr int kValuesOfChunk = 16 / static_cast<int>(sizeof(Value));     // of 16 bytes
  static constexpr int kChunks = kTileKv * static_cast<int>(sizeof(Value)) / 16;  // of a row
  // compiler/emit/cuda/staging.cpp has the same sum.
  static constexpr bool kIsSwizzled = (kChunks & (kChunks - 1)) == 0;
  static constexpr int kRowBytes = (kIsSwizzled ? kChunks : kChunks | 1) * 16;
  static constexpr int kElementBytes = kElements ? Config::kTileQ * kRowBytes : 0;
  static constexpr int kBuffers = Hooks::kStagedBuffers;  // of elements
  static constexpr int kColumnBytes = kColumns ? kTileKv * static_cast<int>(sizeof(Column)) : 0;
  static constexpr int kColumnsOffset = kBuffers * kElementBytes;
  static constexpr int kBytes = kColumnsOffset + (kColumnBytes + 15) / 16 * 16;

  /// A row is cut into chunks of 16 bytes. Returns the slot, counted in chunks, where row `row` keeps chunk `chunk`.
  static __device__ __forceinline__ int swizzled(int chunk, int row) {
    const int turn = !kIsSwizzled ? 0 : kChunks >= 8 ? row & 7 : row / (8 / kChunks) & (kChunks - 1);
    return chunk ^ turn;
  }

  /// Two neighbours of a row, the first of an even column.
  struct alignas(2 * sizeof(Value)) Pair {
    Value values[2];
  };

  /// The byte offset of element (row, column) in the tile. The eight rows that a warp reads at once lie in different
  /// banks: the chunks of a row change places with the row, or a row has an odd number of them.
  static __device__ __forceinline__ int place(int row, int column) {
    return row * kRowBytes + (swizzled(column / kValuesOfChunk, row) << 4) +
           column % kValuesOfChunk * static_cast<int>(sizeof(Value));
  }

  /// Elements (row, column) and (row, column + 1) of the tile at `at`.
  static __device__ __forceinline__ Pair pair(const unsigned char* at, int row, int column) {
    const unsigned char* const from = at + place(row, column);
    if constexpr (sizeof(Value) == 2) {  // a word takes one instruction to make a bf16 of either half a float
      const unsigned word = *reinterpret_cast<const unsigned*>(from);
      return {{static_cast<Value>(word), static_cast<Value>(word >> 16)}};
    } else {
      return *reinterpret_cast<const Pair*>(from);
    }
  }

  /// Column `column` of a tile. `reads` is the room of all that is staged.
  static __device__ __forceinline__ const Column& column(const unsigned char* reads, int column) {
    return reinterpret_cast<const Column*>(reads + kColumnsOffset)[column];
  }

  /// The columns of a tile that this thread finds, before it stores them.
  struct Found {
    static constexpr int kMost = (kTileKv + kThreads - 1) / kThreads;
    Column columns[kMost];
  };

  static __device__ __forceinline__ Found find_columns(const ForwardParams& params, const WorkItem& item,
                                                       const typename Hooks::Head& head, int kv0) {
    Found found;
#pragma unroll
    for (int i = 0; i < Found::kMost; ++i) {
      const int kv_idx = min(kv0 + i * kThreads + static_cast<int>(thread_of_cta()), item.kv_len(params) - 1);
      found.columns[i] =
          Hooks::to_stage(Hooks::column(params.call, head, kv_idx, static_cast<float>(kv_idx)));
    }
    return found;
  }

  static __device__ __forceinline__ void store_columns(unsigned char* reads, const Found& found) {
#pragma unroll
    for (int i = 0; i < Found::kMost; ++i) {
      const int column = i * kThreads + static_cast<int>(thread_of_cta());
      if (column < kTileKv) reinterpret_cast<Column*>(reads + kColumnsOffset)[column] = found.columns[i];
    }
  }
};

}  // namespace fa
