// Reads of captured tensors that run a tile ahead, into shared memory. A hook that reads memory for each
// score waits for it, column after column, for there are no registers to read ahead into.
//
// Columns   what `Hooks::column` finds is found once a key by one thread, not by all eight rows of a quad's
//           column: while O += P V runs for the tile before, in two stages right before it.
// Elements  of one table that is read at [.., q_idx, kv_idx]: its tile comes in by asynchronous copies, like
//           K's. Only where there are such copies (sm_80 and later).
//
// Both lie in one buffer each. In one stage, what the hooks of a tile read is read before the barrier that V's arrival
// needs, what is written for the next tile is written after it, and K's barrier stands between that and the
// next hooks; in two, a barrier says that all warps have read. Elements have a second buffer in two stages where there is
// room, and in one where a CTA has an SM to itself, and nobody works while it waits: their copy then has a whole step.
// Where warps of their own copy (sm_90), a tile of elements arrives with the K of its tile and is given back with it, and
// has as many buffers as K where there is room.
#pragma once

#include "common/instructions.cuh"
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

  /// Two neighbours of a row, the first of an even column.
  struct alignas(2 * sizeof(Value)) Pair {
    Value values[2];
  };

  /// The byte offset of element (row, column) in the tile. The eight rows that a warp reads at once lie in different
  /// banks: the chunks of a row change places with the row, or a row has an odd number of them.
  static __device__ __forceinline__ int place(int row, int column) {
    const int chunk = column / kValuesOfChunk;
    const int turn = !kIsSwizzled ? 0 : kChunks >= 8 ? row & 7 : row / (8 / kChunks) & (kChunks - 1);
    return row * kRowBytes + ((chunk ^ turn) << 4) +
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

  /// Starts the copies of the table's tile at (first_row, kv0) to `to`. The caller closes their group. Returns
  /// whether anything was stored that no copy brings. Past the end are zeros, or copies of the last row, whose
  /// scores end as -inf or are not stored.
  static __device__ __forceinline__ bool start_elements(unsigned char* to, const ForwardParams& params,
                                                        const WorkItem& item,
                                                        const typename Hooks::Head& head, int first_row,
                                                        int kv0) {
    bool stores;
    if constexpr (kRowsAreEven) {
      if constexpr (kRowsOfPass * kChunks < kCopying)  // some threads have no chunk to keep to
        if (copying_thread<Config>() >= kRowsOfPass * kChunks) return false;
      stores = !copy_even_rows(to, params, item, head, first_row, kv0);
    } else {
      stores = !copy_pieces(to, params, item, head, first_row, kv0);
    }
    if (stores) store_pieces(to, params, item, head, first_row, kv0);
    return stores;
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

 private:
  static constexpr int kCopying = kCopyingThreads<Config>;

  // Rows that a pass of all threads copies, where each thread keeps to one chunk of them. What swizzles a row must
  // then be the same in each.
  static constexpr int kRowsOfPass = kCopying / kChunks;
  static constexpr bool kRowsAreEven = Hooks::kStagedRowsAreEven && kRowsOfPass > 0 &&
                                       (!kIsSwizzled || kRowsOfPass % 8 == 0);
  static constexpr int kPieces =  // of 16 bytes, that a thread copies
      kRowsAreEven ? (Config::kTileQ + kRowsOfPass - 1) / kRowsOfPass : Config::kTileQ * kChunks / kCopying;
  static_assert(kRowsAreEven || Config::kTileQ * kChunks % kCopying == 0);

  /// Whether this thread's piece `i` is one of the tile: the last pass may go past its rows.
  static __device__ __forceinline__ bool is_of_tile(int i) {
    if constexpr (!kRowsAreEven || Config::kTileQ % kRowsOfPass == 0) return true;
    return i * kRowsOfPass + static_cast<int>(copying_thread<Config>()) / kChunks < Config::kTileQ;
  }

  struct Piece {
    const Value* from;
    int row;
    int to;    // from the tile's start
    int left;  // values up to kv_len
  };

  /// Where the table's row begins.
  static __device__ __forceinline__ const Value* row_at(const ForwardParams& params,
                                                        const typename Hooks::Head& head, int q_idx) {
    return Hooks::staged_row(Hooks::row(params.call, head, q_idx, static_cast<float>(q_idx)));
  }

  /// A row past the end is the last one.
  static __device__ __forceinline__ Piece piece_of(int i, const ForwardParams& params, const WorkItem& item,
                                                   const typename Hooks::Head& head, int first_row, int kv0) {
    const int thread = static_cast<int>(copying_thread<Config>());
    const int piece = i * (kRowsAreEven ? kRowsOfPass * kChunks : kCopying) + thread;
    const int row = piece / kChunks;
    const int column = piece % kChunks * kValuesOfChunk;
    return {row_at(params, head, min(first_row + row, item.q_len(params) - 1)) + (kv0 + column),
            first_row + row, place(row, column), item.kv_len(params) - (kv0 + column)};
  }

  /// Whether one copy brings it: it is aligned, and kv_len does not cut it.
  static __device__ __forceinline__ bool is_whole(const Piece& piece) {
    return reinterpret_cast<unsigned long long>(piece.from) % 16 == 0 &&
           (piece.left >= kValuesOfChunk || piece.left <= 0);
  }

  /// Copies the tile where every piece of it is whole, which all threads find alike. Returns whether it does.
  static __device__ __forceinline__ bool copy_even_rows(unsigned char* to, const ForwardParams& params,
                                                        const WorkItem& item,
                                                        const typename Hooks::Head& head, int first_row,
                                                        int kv0) {
    const Value* const first = row_at(params, head, first_row) + kv0;
    const long long step = row_at(params, head, 1) - row_at(params, head, 0);  // both cost nothing
    const int left = item.kv_len(params) - kv0;
    const int cut = left > 0 && left < kTileKv ? left : 0;
    const unsigned long long bytes = static_cast<unsigned long long>(step | cut) * sizeof(Value);
    if ((reinterpret_cast<unsigned long long>(first) | bytes) % 16 != 0) return false;
    const int row = static_cast<int>(copying_thread<Config>()) / kChunks;
    const int column = static_cast<int>(copying_thread<Config>()) % kChunks * kValuesOfChunk;
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(to)) + place(row, column);
    const int rows = column < left ? item.q_len(params) - (first_row + row) : 0;  // from this thread's first
    const Value* from = first + row * step + column;
#pragma unroll
    for (int i = 0; i < kPieces; ++i, from += kRowsOfPass * step)
      if (is_of_tile(i)) cp_async_16(smem + i * kRowsOfPass * kRowBytes, from, i * kRowsOfPass < rows);
    return true;
  }

  /// Copies the pieces that are whole. Returns whether all are.
  static __device__ __forceinline__ bool copy_pieces(unsigned char* to, const ForwardParams& params,
                                                     const WorkItem& item, const typename Hooks::Head& head,
                                                     int first_row, int kv0) {
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(to));
    bool all = true;
#pragma unroll 4  // all of them at once would take registers that scores hold
    for (int i = 0; i < kPieces; ++i) {
      const Piece piece = piece_of(i, params, item, head, first_row, kv0);
      if (is_whole(piece))
        cp_async_16(smem + piece.to, piece.from, piece.left > 0);
      else
        all = false;
    }
    return all;
  }

  /// Stores the pieces that are not copied, value by value.
  static __device__ __forceinline__ void store_pieces(unsigned char* to, const ForwardParams& params,
                                                      const WorkItem& item, const typename Hooks::Head& head,
                                                      int first_row, int kv0) {
#pragma unroll 1
    for (int i = 0; i < kPieces; ++i) {
      const Piece piece = piece_of(i, params, item, head, first_row, kv0);
      if ((!kRowsAreEven && is_whole(piece)) || !is_of_tile(i)) continue;
#pragma unroll
      for (int value = 0; value < kValuesOfChunk; ++value)
        reinterpret_cast<Value*>(to + piece.to)[value] =
            value < piece.left ? __ldg(piece.from + value) : static_cast<Value>(0);
    }
  }
};

}  // namespace fa
