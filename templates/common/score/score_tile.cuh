// The hooks on one kv tile of scores: the strategy that makes logits of scores (common/score/strategy/),
// then the mask. Masks of many operations are written down as bits by a loop.
#pragma once

#include "common/score/head_case.cuh"
#include "common/score/hooks.cuh"
#include "common/score/listed_keys.cuh"
#include "common/score/score_elements.cuh"
#include "params.h"

namespace fa {

/// The largest divisor of `all` that is `most` or less.
__host__ __device__ constexpr int largest_divisor(int all, int most) {
  while (all % most != 0) --most;
  return most;
}

template <class Config, class Hooks, class Classes>
struct ScoreTile : ScoreElements<Config, Hooks, Classes> {
  using Elements = ScoreElements<Config, Hooks, Classes>;
  using Elements::item;
  using Elements::kMaskCopies;
  using Elements::kRows;
  using Elements::kTileKv;
  using Elements::rows;
  using Elements::s;
  using typename Elements::Place;
  using typename Elements::Score;
  // Whether the walk tells what tiles lose nothing, to the mask or to kv_len.
  static constexpr bool kWalkTells = Classes::kHasTileClass || Classes::kHasScoreClass;

  /// Raw scores before Q K^T.
  __device__ __forceinline__ void begin_scores(const ForwardParams& params, const typename Hooks::Head& kept,
                                               int kv0) {
    if constexpr (Elements::kBeginsWithAddend) {
      // An exact quotient, which 16-bit data does not need, would be kept in a register from tile to tile.
      const float factor = fast_divide(Hooks::addend_factor(), params.call.scale_log2);
      if constexpr (Elements::kBeginsWithElements) {
        Elements::Begin::begin(s, this->staged_elements(), Place::first_row_of_warp(), factor);
      } else {
        const typename Hooks::Head head = this->head_of_tile(params, kept);
        if constexpr (Hooks::kRowIsCheap) this->find_rows(params, head);
        this->template for_each_element<Copies::all, false>(
            params, head, kv0,
            [&](float& x, const typename Hooks::Row& row, const typename Hooks::Column& column) {
              x = Hooks::addend_term(params.call, head, row, column) * factor;
            });
      }
    } else {
      Place::for_each(s, [](float& x) { x = 0.0f; });
    }
  }

  /// The mask, where its code is long: a loop that is not unrolled writes down what is kept, and unrolled
  /// code reads it. A loop cannot index the scores, which live in registers; unrolled, the mask's code would
  /// be there once for each of a thread's elements, and half of the compile time would go there.
  __device__ __forceinline__ void apply_heavy_mask(const ForwardParams& params,
                                                   const typename Hooks::Head& head, int kv0) {
    constexpr int kColumns = Elements::kColumns;
    constexpr int kBits = kRows * kColumns;  // of one group of columns in this thread
    constexpr int kAll = Place::kGroups;
    constexpr int kServed = largest_divisor(kAll, 64 / kBits);  // groups that a loop serves
#pragma unroll
    for (int first = 0; first < kAll; first += kServed) {
      unsigned long long kept = 0;
#pragma unroll 1
      for (int group = 0; group < kServed; ++group) {
        unsigned bits = 0;
#pragma unroll
        for (int i = 0; i < kColumns; ++i) {
          const typename Hooks::Column column =
              this->column_in_tile(params, head, kv0, Place::column_offset(first + group, i));
#pragma unroll
          for (int m = 0; m < kRows / 2; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half)
              if (const typename Place::ThreadRow row{m, half};
                  Hooks::mask(params.call, head, Place::of_row(rows, row), column))
                bits |= 1u << (row.number() * kColumns + i);
        }
        kept |= static_cast<unsigned long long>(bits) << (group * kBits);
      }
#pragma unroll
      for (int group = 0; group < kServed; ++group)
        Place::for_each_row([&](typename Place::ThreadRow row) {
#pragma unroll
          for (int i = 0; i < kColumns; ++i)
            if ((kept >> (group * kBits + row.number() * kColumns + i) & 1) == 0)
              Place::score(s, row, first + group, i) = negative_infinity();
        });
    }
  }

  // Whether a branch keeps the groups of columns apart there: wide rows of O leave no registers for more of them at once.
  static constexpr bool kListedApart = Config::kHeadDimV > 128;

  /// The mask, where rows list keys.
  __device__ __forceinline__ void apply_listed_mask(const ForwardParams& params,
                                                    const typename Hooks::Head& head, int kv0) {
    using ThreadRow = typename Place::ThreadRow;
    using Listed = ListedKeys<Hooks, kRows, kTileKv>;
    constexpr int kKeysOfWord = Listed::kKeysOfWord;
    const int first_row = this->first_row_of_thread(params);
    Listed listed;
    listed.find(params.call, head, kv0, [&](int row) {
      return min(first_row + Place::row_offset(ThreadRow::of(row)), item.q_len(params) - 1);
    });
    unsigned words[kRows];  // from this thread's first column on
#pragma unroll
    for (int group = 0; group < Place::kGroups; ++group) {
      const int offset = Place::column_offset(group, 0);
      if (kListedApart && kv0 + offset >= item.kv_len(params)) break;
      if (offset % kKeysOfWord == 0) {
#pragma unroll
        for (int row = 0; row < kRows; ++row)
          words[row] = listed.word(row, offset / kKeysOfWord) >> Place::first_column();
      }
#pragma unroll
      for (int i = 0; i < Elements::kColumns; ++i) {
        const typename Hooks::Column column = this->column_in_tile(params, head, kv0, offset + i);
        Place::for_each_row([&](ThreadRow row) {
          const bool is_listed = (words[row.number()] & 1u << (offset % kKeysOfWord + i)) != 0;
          if (!Hooks::mask(params.call, head, Place::of_row(rows, row), column, is_listed))
            Place::score(s, row, group, i) = negative_infinity();
        });
      }
    }
  }

  /// What all logits of each of the thread's rows gain. kv_len is not 0.
  __device__ __forceinline__ void find_row_addends(float (&addends)[kRows], const ForwardParams& params) {
    const typename Hooks::Head head = this->find_head(params);
    const int first = this->first_row_of_thread(params);
    constexpr int kUnrolled = kRows * Hooks::kRowAddendSize > Elements::kMostCode ? 1 : kRows;
#pragma unroll(kUnrolled)
    for (int i = 0; i < kRows; ++i)
      addends[i] = Hooks::row_addend(
          params.call, head, min(first + Place::row_offset(Place::ThreadRow::of(i)), item.q_len(params) - 1));
  }

  /// The same, after the last tile.
  __device__ __forceinline__ void add_row_addends(const ForwardParams& params,
                                                  SoftmaxRow (&softmax)[kRows / 2][2]) {
    if (item.kv_len(params) == 0) return;
    float addends[kRows];
    find_row_addends(addends, params);
#pragma unroll
    for (int i = 0; i < kRows; ++i) softmax[i / 2][i % 2].add(addends[i]);
  }

  /// `apply_hooks` with the hooks of the case that this CTA's head is.
  template <class OfCase>
  __device__ __forceinline__ float apply_case(const ForwardParams& params, WalkStep step) {
    ScoreTile<Config, OfCase, Classes> tile;
    tile.item = item;
    move_scores(tile.s, s, 1.0f);
    const typename OfCase::Head head = tile.find_head(params);
    if constexpr (!OfCase::kRowIsCheap) tile.find_rows(params, head);
    const float shift = tile.apply_hooks(params, head, step, 0.0f);
    move_scores(s, tile.s, OfCase::Score::kIsRaw && !Score::kIsRaw ? params.call.scale_log2 : 1.0f);
    return shift;
  }

  /// Scores to base-2 logits (less the scale and the returned number, where they stay raw), masked ones to
  /// -inf. `slope` is a linear addend's, of raw scores.
  __device__ __forceinline__ float apply_hooks(const ForwardParams& params, typename Hooks::Head head,
                                               WalkStep step, float slope) {
    if constexpr (Hooks::kIsByHead) {
      if (Hooks::head_case(params.call, head.b, head.h))
        return apply_case<typename Hooks::Holds>(params, step);
      return apply_case<typename Hooks::Fails>(params, step);
    } else {
      return apply_own_hooks(params, head, step, slope);
    }
  }

 private:
  static __device__ __forceinline__ void move_scores(typename Place::Scores& to, typename Place::Scores& from,
                                                     float scale) {
    Place::for_each(to, from, [&](float& x, float before) { x = before * scale; });
  }

  __device__ __forceinline__ float apply_own_hooks(const ForwardParams& params, typename Hooks::Head head,
                                                   WalkStep step, float slope) {
    using Row = typename Hooks::Row;
    using Column = typename Hooks::Column;
    const int kv0 = step.tile() * kTileKv;
    const auto find_cheap_head = [&] {
      if constexpr (Hooks::kHeadIsCheap) head = this->find_head(params);
    };
    const auto find_cheap_rows = [&] {
      if constexpr (Hooks::kRowIsCheap) this->find_rows(params, head);
    };
    if constexpr (Score::kAsksHead) find_cheap_head();
    if constexpr (Score::kAsksRows) find_cheap_rows();
    const float shift = Score::template apply<Hooks>(*this, params, head, step, slope);
    if (kWalkTells && step.full()) return shift;
    const bool is_cut = kv0 + kTileKv > item.kv_len(params);  // asked here: after the mask, ptxas spills more
    if constexpr (Hooks::kHasMask) {
      if constexpr (!Score::kAsksHead) find_cheap_head();
      if constexpr (Hooks::kMaskIsRelative) {
        const auto most = [&](int distance) {
          return Hooks::relative_mask(params.call, head, distance) ? -negative_infinity()
                                                                   : negative_infinity();
        };
        this->template for_each_diagonal<Hooks::kRelativeMaskSize>(
            params, kv0, most, [](float& x, float most) { x = fminf(x, most); });
      } else {
        if constexpr (!Score::kAsksRows) find_cheap_rows();
        if constexpr (Hooks::kListsKeys) {
          apply_listed_mask(params, head, kv0);
        } else if constexpr (Hooks::kMaskIsHeavy && kMaskCopies != Copies::one) {
          apply_heavy_mask(params, head, kv0);
        } else {
          this->template for_each_element<kMaskCopies>(
              params, head, kv0, [&](float& x, const Row& row, const Column& column) {
                x = Hooks::mask(params.call, head, row, column) ? x : negative_infinity();
              });
        }
      }
    }
    if (is_cut) this->drop_from(item.kv_len(params) - kv0);
    return shift;
  }
};

}  // namespace fa
