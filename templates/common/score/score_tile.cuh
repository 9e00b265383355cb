// The hooks on one kv tile of scores: which way of score_elements.cuh each takes, and the masks of many
// operations, which a loop writes down as bits.
#pragma once

#include "common/score/head_case.cuh"
#include "common/score/hooks.cuh"
#include "common/score/linear_addend.cuh"
#include "common/score/score_elements.cuh"
#include "params.h"

namespace fa {

template <class Config, class Hooks, class Classes>
struct ScoreTile : ScoreElements<Config, Hooks, Classes> {
  using Elements = ScoreElements<Config, Hooks, Classes>;
  using Elements::kHasShift;
  using Elements::kIdentity;
  using Elements::kMaskCopies;
  using Elements::kMTiles;
  using Elements::kNTiles;
  using Elements::kScoreCopies;
  using Elements::kTileKv;
  using Elements::rows;
  using Elements::s;
  // Whether the walk tells what tiles lose nothing, to the mask or to kv_len.
  static constexpr bool kWalkTells = Classes::kHasTileClass || Classes::kHasScoreClass;

  /// Raw scores before Q K^T.
  __device__ __forceinline__ void begin_scores(const ForwardParams& params, const typename Hooks::Head& kept,
                                               int kv0) {
    if constexpr (Elements::kBeginsByProduct) {
      Elements::Begin::template by_product<true>(s, this->staged(), threadIdx.x / 32 * Elements::kRowsPerWarp,
                                                 Hooks::addend_factor() / params.call.scale_log2);
    } else if constexpr (Elements::kBeginsWithAddend) {
      const typename Hooks::Head head = this->head_of_tile(params, kept);
      if constexpr (Hooks::kRowIsCheap) this->find_rows(params, head);
      const float factor = Hooks::addend_factor() / params.call.scale_log2;
      this->template for_each_element<Copies::all, false>(
          params, head, kv0,
          [&](float& x, const typename Hooks::Row& row, const typename Hooks::Column& column) {
            x = Hooks::addend_term(params.call, head, row, column) * factor;
          });
    } else {
#pragma unroll
      for (int m = 0; m < kMTiles; ++m)
#pragma unroll
        for (int n = 0; n < kNTiles; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) s[m][n][i] = 0.0f;
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
          if constexpr (Hooks::kColumnReads) kv_idx = min(kv_idx, params.call.kv_len - 1);
          const typename Hooks::Column column =
              Hooks::column(params.call, head, kv_idx, static_cast<float>(kv_idx));
#pragma unroll
          for (int m = 0; m < kMTiles; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half)
              if (Hooks::mask(params.call, head, rows[m][half], column))
                bits |= 1u << ((m * 2 + half) * 2 + pair);
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

  /// What all logits of a row gain, after the last tile.
  __device__ __forceinline__ void add_row_addends(const ForwardParams& params,
                                                  SoftmaxRow (&softmax)[kMTiles][2]) {
    if (params.call.kv_len == 0) return;
    const typename Hooks::Head head = this->find_head(params);
    const int first = this->first_row_of_thread(params);
    constexpr int kRows = 2 * kMTiles;
    constexpr int kUnrolled = kRows * Hooks::kRowAddendSize > Elements::kMostCode ? 1 : kRows;
    float addends[kRows];
#pragma unroll(kUnrolled)
    for (int i = 0; i < kRows; ++i)
      addends[i] = Hooks::row_addend(params.call, head, min(first + i * 8, params.call.q_len - 1));
#pragma unroll
    for (int i = 0; i < kRows; ++i) softmax[i / 2][i % 2].add(addends[i]);
  }

  /// `apply_hooks` with the hooks of the case that this CTA's head is.
  template <class OfCase>
  __device__ __forceinline__ float apply_case(const ForwardParams& params, WalkStep step) {
    ScoreTile<Config, OfCase, Classes> tile;
    move_scores(tile.s, s, 1.0f);
    const typename OfCase::Head head = tile.find_head(params);
    if constexpr (!OfCase::kRowIsCheap) tile.find_rows(params, head);
    const float shift = tile.apply_hooks(params, head, step, 0.0f);
    move_scores(s, tile.s, tile.kIsRaw && !Elements::kIsRaw ? params.call.scale_log2 : 1.0f);
    return shift;
  }

  /// Scores to base-2 logits (less the scale and the returned number, where they stay raw), masked ones to
  /// -inf. `slope` is a linear addend's, of raw scores.
  __device__ __forceinline__ float apply_hooks(const ForwardParams& params, typename Hooks::Head head,
                                               WalkStep step, [[maybe_unused]] float slope) {
    if constexpr (Hooks::kIsByHead) {
      if (Hooks::head_case(params.call, head.b, head.h))
        return apply_case<typename Hooks::Holds>(params, step);
      return apply_case<typename Hooks::Fails>(params, step);
    } else {
      return apply_own_hooks(params, head, step, slope);
    }
  }

 private:
  static __device__ __forceinline__ void move_scores(float (&to)[kMTiles][kNTiles][4],
                                                     const float (&from)[kMTiles][kNTiles][4], float scale) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) to[m][n][i] = from[m][n][i] * scale;
  }

  __device__ __forceinline__ float apply_own_hooks(const ForwardParams& params, typename Hooks::Head head,
                                                   WalkStep step, [[maybe_unused]] float slope) {
    using Row = typename Hooks::Row;
    using Column = typename Hooks::Column;
    const int kv0 = step.tile() * kTileKv;
    float shift = 0.0f;
    const auto find_cheap_head = [&] {
      if constexpr (Hooks::kHeadIsCheap) head = this->find_head(params);
    };
    const auto find_cheap_rows = [&] {
      if constexpr (Hooks::kRowIsCheap) this->find_rows(params, head);
    };
    // Values of the distance are found without rows, and linear addends' columns.
    constexpr bool kScoreAsksRows = !kIdentity && !Hooks::kAddendIsRelative && !Hooks::kAddendIsLinear;
    if constexpr (!kIdentity && !Hooks::kAddendIsLinear) find_cheap_head();
    if constexpr (kScoreAsksRows) find_cheap_rows();
    if constexpr (Hooks::kScoreForm == ScoreForm::general) {
      this->template for_each_element<kScoreCopies>(params, head, kv0,
                                                    [&](float& x, const Row& row, const Column& column) {
                                                      x = Hooks::logit(x, params.call, head, row, column);
                                                    });
    } else if constexpr (Hooks::kAddendIsLinear) {
      LinearAddend<Hooks>::add_columns(s, slope);
    } else if constexpr (kHasShift && Hooks::kAddendIsRelative) {
      const float inverse = 1.0f / params.call.scale_log2;
      const auto relative = [&](int distance) { return Hooks::relative_addend(params.call, head, distance); };
      if (step.plain()) {
        shift = relative(this->distance_at(params, kv0, 0));
      } else {
        this->template for_each_diagonal<Hooks::kRelativeAddendSize>(
            params, kv0, [&](int distance) { return relative(distance) * inverse; },
            [](float& x, float addend) { x += addend; });
      }
    } else if constexpr (kHasShift) {
      if (step.plain()) {
        const Column first = Hooks::column(params.call, head, kv0, static_cast<float>(kv0));
        shift = Hooks::addend(params.call, head, rows[0][0], first);
      } else {
        const float inverse = 1.0f / params.call.scale_log2;
        this->template for_each_element<kScoreCopies>(
            params, head, kv0, [&](float& x, const Row& row, const Column& column) {
              x = fmaf(Hooks::addend(params.call, head, row, column), inverse, x);
            });
      }
    } else if constexpr (Hooks::kAddendIsProduct) {
      [[maybe_unused]] const float factor = Hooks::addend_factor() / params.call.scale_log2;
      if constexpr (!Elements::kBeginsWithAddend)
        this->template for_each_element<kScoreCopies>(
            params, head, kv0, [&](float& x, const Row& row, const Column& column) {
              x = fmaf(Hooks::addend_term(params.call, head, row, column), factor, x);
            });
    } else if constexpr (Hooks::kAddendIsRelative) {
      const Column first = Hooks::column(params.call, head, kv0, static_cast<float>(kv0));
      const float multiplier = Hooks::multiplier(params.call, head, Row{}, first);  // uniform
      this->template for_each_diagonal<Hooks::kRelativeAddendSize>(
          params, kv0, [&](int distance) { return Hooks::relative_addend(params.call, head, distance); },
          [&](float& x, float addend) { x = fmaf(multiplier, x, addend); });
    } else if constexpr (Hooks::kScoreForm == ScoreForm::affine) {
      this->template for_each_element<kScoreCopies>(
          params, head, kv0, [&](float& x, const Row& row, const Column& column) {
            x = fmaf(Hooks::multiplier(params.call, head, row, column), x,
                     Hooks::addend(params.call, head, row, column));
          });
    }
    if (kWalkTells && step.full()) return shift;
    const bool is_cut = kv0 + kTileKv > params.call.kv_len;  // asked here: after the mask, ptxas spills more
    if constexpr (Hooks::kHasMask) {
      if constexpr (kIdentity || Hooks::kAddendIsLinear) find_cheap_head();
      if constexpr (Hooks::kMaskIsRelative) {
        const auto most = [&](int distance) {
          return Hooks::relative_mask(params.call, head, distance) ? -negative_infinity()
                                                                   : negative_infinity();
        };
        this->template for_each_diagonal<Hooks::kRelativeMaskSize>(
            params, kv0, most, [](float& x, float most) { x = fminf(x, most); });
      } else {
        if constexpr (!kScoreAsksRows) find_cheap_rows();
        if constexpr (Hooks::kMaskIsHeavy && kMaskCopies != Copies::one) {
          apply_heavy_mask(params, head, kv0);
        } else {
          this->template for_each_element<kMaskCopies>(
              params, head, kv0, [&](float& x, const Row& row, const Column& column) {
                x = Hooks::mask(params.call, head, row, column) ? x : negative_infinity();
              });
        }
      }
    }
    if (is_cut) this->drop_from(params.call.kv_len - kv0);
    return shift;
  }
};

}  // namespace fa
