// Loads a table's tile into shared memory (common/score/staged_reads.cuh) by asynchronous copies of 16 bytes. A tile is
// whole if the table's rows lie at one distance from each other and are aligned, and kv_len does not cut a copy. A whole
// tile is copied without a branch. In any other tile each piece is checked: it is copied, or stored value by value.
#pragma once

#include "common/instructions.cuh"
#include "common/lane_store.cuh"
#include "common/placement.cuh"
#include "common/score/staged_reads.cuh"
#include "params.h"

namespace fa {

template <class Config, class Hooks>
struct TableCopies {
  using Reads = StagedReads<Config, Hooks>;
  using Value = typename Reads::Value;
  using Head = typename Hooks::Head;

  /// The table's rows of a q tile. A kv loop finds them once and keeps them.
  struct Rows {
    const char* first = nullptr;  // where the first one begins, if any tile is whole
    int left = 0;                 // up to q_len
    int whole_until = 0;          // the column before which tiles are whole
  };

  static __device__ __forceinline__ Rows find_rows(const ForwardParams& params, const WorkItem& item,
                                                   const Head& head, int first_row) {
    Rows rows;
    rows.left = item.q_len(params) - first_row;
    if constexpr (kRowsAreEven) {
      rows.first = reinterpret_cast<const char*>(row_at(params, head, first_row));
      const long long step = bytes_of_row(params, head);
      const auto address = reinterpret_cast<unsigned long long>(rows.first);
      const int kv_len = item.kv_len(params);
      const bool cuts_a_copy = kv_len % Reads::kValuesOfChunk != 0;
      if ((address | static_cast<unsigned long long>(step)) % 16 == 0 && step == static_cast<int>(step))
        rows.whole_until = cuts_a_copy ? kv_len / Config::kTileKv * Config::kTileKv : kv_len;
    }
    return rows;
  }

  /// Before the store is sealed.
  static __device__ __forceinline__ void keep(LaneStore& store, const Rows& rows) {
    store.put(Kept::kRowsOfTable, rows.first);
    store.put_word(Kept::kTableRowsLeft, static_cast<unsigned>(rows.left));
    store.put_word(Kept::kTableWholeUntil, static_cast<unsigned>(rows.whole_until));
  }

  /// Every lane of the warp takes part.
  static __device__ __forceinline__ Rows kept(const LaneStore& store) {
    if constexpr (!Reads::kElements) return {};
    return {store.get(Kept::kRowsOfTable), static_cast<int>(store.get_word(Kept::kTableRowsLeft)),
            static_cast<int>(store.get_word(Kept::kTableWholeUntil))};
  }

  /// Starts to load the tile of these rows that begins at column kv0 into `to`. A tile that is not whole is loaded first.
  /// Then `between` is called, then the copies of a whole tile start. The caller closes their group. Past the end the tile
  /// has zeros, or the last row again; the scores there become -inf or are not stored.
  template <class Between>
  static __device__ __forceinline__ void start(unsigned char* to, const Rows& rows,
                                               const ForwardParams& params, const WorkItem& item,
                                               const Head& head, int kv0, Between between) {
    // All threads get the same answer. A tile past the end counts as whole: its copies read nothing and write zeros.
    const bool is_whole = kRowsAreEven && (kv0 < rows.whole_until || kv0 >= item.kv_len(params));
    if (!is_whole && bring_pieces(to, params, item, head, item.q_len(params) - rows.left, kv0))
      __threadfence_block();  // what was stored, not copied, is there when this thread arrives at a barrier
    between();
    if constexpr (kRowsAreEven)
      copy_whole(is_whole && has_chunk(), static_cast<unsigned>(__cvta_generic_to_shared(to)), rows, params,
                 item, head, kv0);
  }

 private:
  static constexpr int kChunks = Reads::kChunks;
  static constexpr int kCopying = kCopyingThreads<Config>;

  // Rows that a pass of all threads copies, where each thread keeps to one chunk of them. What swizzles a row must
  // then be the same in each.
  static constexpr int kRowsOfPass = kCopying / kChunks;
  static constexpr bool kRowsAreEven = Hooks::kStagedRowsAreEven && kRowsOfPass > 0 &&
                                       (!Reads::kIsSwizzled || kRowsOfPass % 8 == 0);
  static constexpr int kPieces =  // of 16 bytes, that a thread copies
      kRowsAreEven ? (Config::kTileQ + kRowsOfPass - 1) / kRowsOfPass : Config::kTileQ * kChunks / kCopying;
  static_assert(kRowsAreEven || Config::kTileQ * kChunks % kCopying == 0);

  /// Where the table's row begins.
  static __device__ __forceinline__ const Value* row_at(const ForwardParams& params, const Head& head,
                                                        int q_idx) {
    return Hooks::staged_row(Hooks::row(params.call, head, q_idx, static_cast<float>(q_idx)));
  }

  /// From row to row, where rows are even.
  static __device__ __forceinline__ long long bytes_of_row(const ForwardParams& params, const Head& head) {
    return (row_at(params, head, 1) - row_at(params, head, 0)) * static_cast<int>(sizeof(Value));
  }

  /// Whether this thread has a chunk to keep to, where rows are even.
  static __device__ __forceinline__ bool has_chunk() {
    return kRowsOfPass * kChunks >= kCopying || copying_thread<Config>() < kRowsOfPass * kChunks;
  }

  /// Whether this thread's piece `i` is one of the tile: the last pass may go past its rows.
  static __device__ __forceinline__ bool is_of_tile(int i) {
    if (!kRowsAreEven || (i + 1) * kRowsOfPass <= Config::kTileQ) return true;
    return i * kRowsOfPass + static_cast<int>(copying_thread<Config>()) / kChunks < Config::kTileQ;
  }

  /// Starts this thread's copies if `is_wanted`. The thread's row and chunk are computed as in common/tile.cuh, so that the
  /// compiler shares them with the copies of K and V.
  static __device__ __forceinline__ void copy_whole(bool is_wanted, unsigned to, const Rows& rows,
                                                    const ForwardParams& params, const WorkItem& item,
                                                    const Head& head, int kv0) {
    const int row = copying_thread<Config>() / kChunks;
    const int chunk = copying_thread<Config>() % kChunks;
    const unsigned smem = to + row * Reads::kRowBytes + (Reads::swizzled(chunk, row) << 4);
    const int step = static_cast<int>(bytes_of_row(params, head));
    const int valid = kv0 + chunk * Reads::kValuesOfChunk < item.kv_len(params) ? rows.left - row : 0;
    const char* from =
        multiply_add(row, step, rows.first + chunk * 16 + static_cast<int>(sizeof(Value)) * kv0);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      cp_async_16_if(is_wanted && is_of_tile(i), smem + i * kRowsOfPass * Reads::kRowBytes, from,
                     i * kRowsOfPass < valid);
      from = multiply_add(step, kRowsOfPass, from);
    }
  }

  struct Piece {
    const Value* from;
    int to;    // from the tile's start
    int left;  // values up to kv_len
  };

  /// A row past the end is the last one.
  static __device__ __forceinline__ Piece piece_of(int i, const ForwardParams& params, const WorkItem& item,
                                                   const Head& head, int first_row, int kv0) {
    const int thread = static_cast<int>(copying_thread<Config>());
    const int piece = i * (kRowsAreEven ? kRowsOfPass * kChunks : kCopying) + thread;
    const int row = piece / kChunks;
    const int column = piece % kChunks * Reads::kValuesOfChunk;
    return {row_at(params, head, min(first_row + row, item.q_len(params) - 1)) + (kv0 + column),
            Reads::place(row, column), item.kv_len(params) - (kv0 + column)};
  }

  /// Whether one copy brings it: it is aligned, and kv_len does not cut it.
  static __device__ __forceinline__ bool is_whole(const Piece& piece) {
    return reinterpret_cast<unsigned long long>(piece.from) % 16 == 0 &&
           (piece.left >= Reads::kValuesOfChunk || piece.left <= 0);
  }

  /// Loads a tile that is not whole. Even rows are stored; of other rows the pieces that a copy can bring are copied, and
  /// the rest is stored. Returns whether this thread stored anything.
  static __device__ __forceinline__ bool bring_pieces(unsigned char* to, const ForwardParams& params,
                                                      const WorkItem& item, const Head& head, int first_row,
                                                      int kv0) {
    if constexpr (kRowsAreEven) {
      if (!has_chunk()) return false;
    } else {
      if (copy_pieces(to, params, item, head, first_row, kv0)) return false;
    }
    store_pieces(to, params, item, head, first_row, kv0);
    return true;
  }

  /// Copies the pieces that are whole. Returns whether all are.
  static __device__ __forceinline__ bool copy_pieces(unsigned char* to, const ForwardParams& params,
                                                     const WorkItem& item, const Head& head, int first_row,
                                                     int kv0) {
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
                                                      const WorkItem& item, const Head& head, int first_row,
                                                      int kv0) {
#pragma unroll 1
    for (int i = 0; i < kPieces; ++i) {
      const Piece piece = piece_of(i, params, item, head, first_row, kv0);
      if ((!kRowsAreEven && is_whole(piece)) || !is_of_tile(i)) continue;
#pragma unroll
      for (int value = 0; value < Reads::kValuesOfChunk; ++value)
        reinterpret_cast<Value*>(to + piece.to)[value] =
            value < piece.left ? __ldg(piece.from + value) : static_cast<Value>(0);
    }
  }
};

}  // namespace fa
