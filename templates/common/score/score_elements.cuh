// One kv tile of scores, as the warps of a CTA hold it (the architecture's WarpPlace says where each element
// is), and how a hook gets at all of them: element by element or once a diagonal (what depends on
// q_idx - kv_idx alone). How often the hook's code is there follows from its size: a tile has up to 128
// elements a thread, and NVRTC's time grows with the instructions.
#pragma once

#include "common/placement.cuh"
#include "common/products.cuh"
#include "common/score/element_addend.cuh"
#include "common/score/hooks.cuh"
#include "common/score/staged_reads.cuh"
#include "common/score/strategy/strategies.cuh"
#include "common/softmax.cuh"
#include "common/tiles/shared_map.cuh"
#include "common/tiles/tile_walk.cuh"
#include "params.h"

namespace fa {

/// How often the code of one element is there: for each, for those of one group of columns (a loop visits
/// the others, and scores rotate through its registers), or once (a loop over scores that lie in local
/// memory).
enum class Copies { all, of_group, one };

/// S of one kv tile in this thread.
template <class Config, class Hooks, class Classes>
struct ScoreElements {
  static constexpr int kTileKv = Config::kTileKv;
  static constexpr int kRowsPerWarp = Config::kTileQ / Config::kWarps;
  using Place = WarpPlace<kRowsPerWarp, kTileKv>;
  using ThreadRow = typename Place::ThreadRow;
  static constexpr int kRows = Place::kRows;  // of this thread
  static constexpr int kColumns = Place::kColumnsOfGroup;

  using Score = typename Hooks::Score;
  static_assert(Score::kHasShift == Classes::kHasScoreClass);  // the walk says which tiles are plain
  // Whether a branch keeps the columns of a tile apart. Without it ptxas starts the reads or the arithmetic
  // of all columns first and has no registers for the results. What comes from shared memory is not far.
  static constexpr bool kColumnsApart =
      (Hooks::kColumnReads || Score::kAsksHead) && !(Hooks::kStagesColumns && !Hooks::kElementReads);
  // Whether the compiler may keep the q tile's number (WorkItem::q_tile): where rows are asked for in
  // every tile, to compute it again costs more than it frees. With a score class or a linear addend, they
  // are not.
  static constexpr bool kHooksKeepQTile = !Score::kIsRaw || Config::kDropout;

  using Reads = StagedReads<Config, Hooks>;

  static constexpr int kMostCode = 3000;  // instructions of one hook: a third of a second of NVRTC's time

  /// How often code of `size` instructions an element, beside that of rows and columns, is there.
  static __device__ constexpr Copies copies_of(int size) {
    const int of_group = kColumns * (kRows * size + Hooks::kColumnSize);
    return of_group * Place::kGroups <= kMostCode ? Copies::all
           : of_group <= kMostCode                ? Copies::of_group
                                                  : Copies::one;
  }
  static constexpr Copies kScoreCopies = copies_of(Hooks::kScoreSize);
  static constexpr Copies kMaskCopies = copies_of(Hooks::kMaskSize);
  // Whether scores begin with what score_mod adds, a table's tile, and not with 0: its instructions then run
  // beside the first products. (f32 adds its products up elsewhere.)
  static constexpr bool kBeginsWithAddend = Score::kIsProduct && Hooks::kStagesElements &&
                                            kScoreCopies == Copies::all &&
                                            Products<typename Config::Element>::kStagesOutput;
  // Whether that is an element of 16 bits (common/score/element_addend.cuh).
  static constexpr bool kBeginsWithElements = kBeginsWithAddend && Hooks::kAddendTermIsElement;
  using Begin = ElementAddend<Reads, typename Hooks::StagedType>;

  static constexpr bool kRowIsLong = kRows * Hooks::kRowSize > kMostCode;

  WorkItem item;
  int element_buffer;        // where Reads::kBuffers is not 1: that of this tile
  typename Place::Scores s;  // scores, then probabilities
  typename Place::template OfRows<typename Hooks::Row> rows;

  /// What the hooks know of this head. What is cheap is computed again in every tile: kept, it would take
  /// registers that the products need.
  __device__ __forceinline__ typename Hooks::Head find_head(const ForwardParams& params) const {
    const auto [b, h] = item.head(params);
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
    return item.template q_tile<kHooksKeepQTile>(params, Config::kTileQ) * Config::kTileQ;
  }

  /// This thread's first row.
  __device__ __forceinline__ int first_row_of_thread(const ForwardParams& params) const {
    const unsigned thread = Hooks::kRowIsCheap ? reread_thread() : thread_of_cta();  // nor is this kept
    return first_row(params) + static_cast<int>(Place::first_row(thread));
  }

  __device__ __forceinline__ typename Hooks::Row row_at(const ForwardParams& params,
                                                        const typename Hooks::Head& head, int q_idx) const {
    if constexpr (Hooks::kRowReads) q_idx = min(q_idx, item.q_len(params) - 1);
    return Hooks::row(params.call, head, q_idx, static_cast<float>(q_idx));
  }

  /// What the hooks know of this thread's rows.
  __device__ __forceinline__ void find_rows(const ForwardParams& params, const typename Hooks::Head& head) {
    const int first = first_row_of_thread(params);
    if constexpr (kRowIsLong) {
      rotate_rows([&](int i, typename Hooks::Row& row) {
        row = row_at(params, head, first + Place::row_offset(ThreadRow::of(i)));
      });
    } else {
      Place::for_each_row([&](ThreadRow row) {
        Place::of_row(rows, row) = row_at(params, head, first + Place::row_offset(row));
      });
    }
  }

  /// Calls `body(x, row, column)` on every element of S; `kv0` is the tile's first key.
  template <Copies kCopies, bool kApart = kColumnsApart, class Body>
  __device__ __forceinline__ void for_each_element(const ForwardParams& params,
                                                   const typename Hooks::Head& head, int kv0, Body body) {
    const int first = kv0 + Place::first_column();
    const float first_f = static_cast<float>(first);
    if constexpr (kCopies == Copies::one) {
      for_each_in_memory(params, head, first, body);
    } else if constexpr (kCopies == Copies::of_group) {
#pragma unroll 1
      for (int group = 0; group < Place::kGroups; ++group) {
        const int offset = Place::column_offset(group, 0);
        if (kv0 + offset < item.kv_len(params))
          for_each_of_group(params, head, 0, first, first_f, offset, body);
        rotate_groups();
      }
    } else {
#pragma unroll
      for (int group = 0; group < Place::kGroups; ++group) {
        const int offset = Place::column_offset(group, 0);
        if (kApart && kv0 + offset >= item.kv_len(params)) break;
        for_each_of_group(params, head, group, first, first_f, offset, body);
      }
    }
  }

  /// q_idx - kv_idx `offset` rows below this warp's first element of the tile, within what exists.
  __device__ __forceinline__ int distance_at(const ForwardParams& params, int kv0, int offset) {
    const int of_warp = first_row(params) + Place::first_row_of_warp();
    return min(max(of_warp - kv0 + offset, 1 - item.kv_len(params)), item.q_len(params) - 1);
  }

  /// Calls `body(x, of(distance))` on every element of S, distance = q_idx - kv_idx, with `of`, of kSize
  /// instructions, evaluated once for elements that share a distance.
  template <int kSize, class Of, class Body>
  __device__ __forceinline__ void for_each_diagonal(const ForwardParams& params, int kv0, Of of, Body body) {
    Place::template for_each_diagonal<(Place::kDiagonalPairs * kSize > kMostCode)>(
        s, [&](int offset) { return of(distance_at(params, kv0, offset)); },
        [&](int column) { return !kColumnsApart || kv0 + column < item.kv_len(params); }, body);
  }

  /// What the hooks know of this thread's first row.
  __device__ __forceinline__ const typename Hooks::Row& first_row_values() const {
    return Place::of_row(rows, ThreadRow::of(0));
  }

  /// The room of what is staged, and in it the table's tile.
  static __device__ __forceinline__ const unsigned char* staged() {
    extern __shared__ __align__(1024) unsigned char shared[];
    return shared + SharedMap<Config, Hooks>::kReadsOffset;
  }
  __device__ __forceinline__ const unsigned char* staged_elements() const {
    if constexpr (Reads::kBuffers == 1) return staged();
    return staged() + element_buffer * Reads::kElementBytes;
  }

  /// Scores of the tile's columns from `end` on to -inf.
  __device__ __forceinline__ void drop_from(int end) {
    const int left = end - static_cast<int>(Place::first_column());
    Place::for_each_column(s, [&](float& x, int offset) {
      if (offset >= left) x = negative_infinity();
    });
  }

  /// The column that is `offset` columns from this thread's first one, of the tile that begins at key kv0.
  __device__ __forceinline__ typename Hooks::Column column_in_tile(const ForwardParams& params,
                                                                   const typename Hooks::Head& head, int kv0,
                                                                   int offset) const {
    int kv_idx = kv0 + Place::first_column() + offset;
    if constexpr (Hooks::kColumnReads) kv_idx = min(kv_idx, item.kv_len(params) - 1);
    return Hooks::column(params.call, head, kv_idx, static_cast<float>(kv_idx));
  }

 private:
  __device__ __forceinline__ void clamp_column(const ForwardParams& params, int& kv_idx,
                                               float& kv_idx_f) const {
    kv_idx = min(kv_idx, item.kv_len(params) - 1);
    kv_idx_f = fminf(kv_idx_f, static_cast<float>(item.kv_len(params) - 1));
  }

  __device__ __forceinline__ typename Hooks::Column column_at(const ForwardParams& params,
                                                              const typename Hooks::Head& head, int kv_idx,
                                                              float kv_idx_f) const {
    if constexpr (Hooks::kColumnReads) clamp_column(params, kv_idx, kv_idx_f);
    return Hooks::column(params.call, head, kv_idx, kv_idx_f);
  }

  /// Column kv_idx, which is `offset` columns from this thread's first one.
  __device__ __forceinline__ typename Hooks::Column column_of_tile(const ForwardParams& params,
                                                                   const typename Hooks::Head& head,
                                                                   int kv_idx, float kv_idx_f,
                                                                   int offset) const {
    if constexpr (Reads::kColumns) {
      if constexpr (Hooks::kElementReads) clamp_column(params, kv_idx, kv_idx_f);
      return Hooks::from_stage(Reads::column(staged(), Place::first_column() + offset), kv_idx, kv_idx_f);
    } else {
      return column_at(params, head, kv_idx, kv_idx_f);
    }
  }

  /// Calls `body` for the elements of group `group`. It begins `offset` columns after the thread's first column.
  template <class Body>
  __device__ __forceinline__ void for_each_of_group(const ForwardParams& params,
                                                    const typename Hooks::Head& head, int group, int first,
                                                    float first_f, int offset, Body body) {
    const auto column = [&](int pair) {
      return column_of_tile(params, head, first + (offset + pair),
                            first_f + static_cast<float>(offset + pair),  // exact: lengths stay below 2^24
                            offset + pair);
    };
    if constexpr (Reads::kElements) {
      typename Hooks::Column columns[2] = {column(0), column(1)};
      static_assert(kColumns == 2);
      const int first_row = Place::first_row();
      Place::for_each_row([&](ThreadRow row) {
        const auto two = Reads::pair(staged_elements(), first_row + Place::row_offset(row),
                                     Place::first_column() + offset);
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          columns[pair].staged = {true, two.values[pair]};
          body(Place::score(s, row, group, pair), Place::of_row(rows, row), columns[pair]);
        }
      });
    } else {
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const typename Hooks::Column of_rows = column(i);
        Place::for_each_row(
            [&](ThreadRow row) { body(Place::score(s, row, group, i), Place::of_row(rows, row), of_rows); });
      }
    }
  }

  /// Moves each group's scores to the place of the one before; the first goes to the end.
  __device__ __forceinline__ void rotate_groups() {
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const float first = Place::score(s, ThreadRow::of(row), 0, i);
#pragma unroll
        for (int group = 1; group < Place::kGroups; ++group)
          Place::score(s, ThreadRow::of(row), group - 1, i) = Place::score(s, ThreadRow::of(row), group, i);
        Place::score(s, ThreadRow::of(row), Place::kGroups - 1, i) = first;
      }
  }

  /// `body(i, row)` on every row of the thread, by one copy of its code.
  template <class Body>
  __device__ __forceinline__ void rotate_rows(Body body) {
#pragma unroll 1
    for (int i = 0; i < kRows; ++i) {
      body(i, Place::of_row(rows, ThreadRow::of(0)));
      const typename Hooks::Row first = Place::of_row(rows, ThreadRow::of(0));
#pragma unroll
      for (int j = 1; j < kRows; ++j)
        Place::of_row(rows, ThreadRow::of(j - 1)) = Place::of_row(rows, ThreadRow::of(j));
      Place::of_row(rows, ThreadRow::of(kRows - 1)) = first;
    }
  }

  /// One copy of the code of element, row and column: for hooks so long that nothing else matters.
  template <class Body>
  __device__ __forceinline__ void for_each_in_memory(const ForwardParams& params,
                                                     const typename Hooks::Head& head, int first_column,
                                                     Body body) {
    float in_memory[Place::kScores];
    for_each_number(
        [&](int e, ThreadRow row, int group, int i) { in_memory[e] = Place::score(s, row, group, i); });
    const int first = first_row_of_thread(params);
#pragma unroll 1
    for (int e = 0; e < Place::kScores; ++e) {
      const int q_idx = first + Place::row_offset(ThreadRow::of(e / (Place::kGroups * kColumns)));
      const int kv_idx = first_column + Place::column_offset(e / kColumns % Place::kGroups, e % kColumns);
      body(in_memory[e], row_at(params, head, q_idx),
           column_at(params, head, kv_idx, static_cast<float>(kv_idx)));
    }
    for_each_number(
        [&](int e, ThreadRow row, int group, int i) { Place::score(s, row, group, i) = in_memory[e]; });
  }

  /// `body(number, row, group, column)` on all elements of this thread, in the order of the loop above.
  template <class Body>
  static __device__ __forceinline__ void for_each_number(Body body) {
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int group = 0; group < Place::kGroups; ++group)
#pragma unroll
        for (int i = 0; i < kColumns; ++i)
          body((row * Place::kGroups + group) * kColumns + i, ThreadRow::of(row), group, i);
  }
};

}  // namespace fa
