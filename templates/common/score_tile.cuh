// The hooks on one kv tile of scores: which way of score_elements.cuh each takes, and the masks of many
// operations, which a loop writes down as bits.
#pragma once

#include "common/hooks.cuh"
#include "common/linear_addend.cuh"
#include "common/score_elements.cuh"
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
          if constexpr (Hooks::kColumnReads) kv_idx = min(kv_idx, params.kv_len - 1);
          const typename Hooks::Column column =
              Hooks::column(params, head, kv_idx, static_cast<float>(kv_idx));
#pragma unroll
          for (int m = 0; m < kMTiles; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half)
              if (Hooks::mask(params, head, rows[m][half], column)) bits |= 1u << ((m * 2 + half) * 2 + pair);
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

  /// Scores to base-2 logits (less the scale and the returned number, where they stay raw), masked ones to
  /// -inf. `slope` is a linear addend's, of raw scores.
  __device__ __forceinline__ float apply_hooks(const ForwardParams& params, typename Hooks::Head head,
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
                                                      x = Hooks::logit(x, params, head, row, column);
                                                    });
    } else if constexpr (Hooks::kAddendIsLinear) {
      LinearAddend<Hooks>::add_columns(s, slope);
    } else if constexpr (kHasShift && Hooks::kAddendIsRelative) {
      const float inverse = 1.0f / params.scale_log2;
      const auto relative = [&](int distance) { return Hooks::relative_addend(params, head, distance); };
      if (step.plain()) {
        shift = relative(this->distance_at(params, kv0, 0));
      } else {
        this->template for_each_diagonal<Hooks::kRelativeAddendSize>(
            params, kv0, [&](int distance) { return relative(distance) * inverse; },
            [](float& x, float addend) { x += addend; });
      }
    } else if constexpr (kHasShift) {
      if (step.plain()) {
        const Column first = Hooks::column(params, head, kv0, static_cast<float>(kv0));
        shift = Hooks::addend(params, head, rows[0][0], first);
      } else {
        const float inverse = 1.0f / params.scale_log2;
        this->template for_each_element<kScoreCopies>(
            params, head, kv0, [&](float& x, const Row& row, const Column& column) {
              x = fmaf(Hooks::addend(params, head, row, column), inverse, x);
            });
      }
    } else if constexpr (Hooks::kAddendIsRelative) {
      const Column first = Hooks::column(params, head, kv0, static_cast<float>(kv0));
      const float multiplier = Hooks::multiplier(params, head, Row{}, first);  // uniform
      this->template for_each_diagonal<Hooks::kRelativeAddendSize>(
          params, kv0, [&](int distance) { return Hooks::relative_addend(params, head, distance); },
          [&](float& x, float addend) { x = fmaf(multiplier, x, addend); });
    } else if constexpr (Hooks::kScoreForm == ScoreForm::affine) {
      this->template for_each_element<kScoreCopies>(params, head, kv0,
                                                    [&](float& x, const Row& row, const Column& column) {
                                                      x = fmaf(Hooks::multiplier(params, head, row, column),
                                                               x, Hooks::addend(params, head, row, column));
                                                    });
    }
    if (kWalkTells && step.full()) return shift;
    const bool is_cut = kv0 + kTileKv > params.kv_len;  // asked here: after the mask, ptxas spills more
    if constexpr (Hooks::kHasMask) {
      if constexpr (kIdentity || Hooks::kAddendIsLinear) find_cheap_head();
      if constexpr (Hooks::kMaskIsRelative) {
        const auto most = [&](int distance) {
          return Hooks::relative_mask(params, head, distance) ? -negative_infinity() : negative_infinity();
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
                x = Hooks::mask(params, head, row, column) ? x : negative_infinity();
              });
        }
      }
    }
    if (is_cut) this->drop_from(params.kv_len - kv0);
    return shift;
  }
};

}  // namespace fa
