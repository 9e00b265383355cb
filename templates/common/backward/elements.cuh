// Computes P and dS from the scores of a tile and dP, element by element. The accumulators' rows are query rows,
// as in the forward pass, or keys, where K is the left operand: the code serves both.
//
//   P = exp2(logit(S) - lse)    dL = P (Z dP - D)    dS = dL * d score_mod / d score
//
// with Z what dropout multiplies probabilities by. P Z and dS come out without the factor that keeps P's mean
// (common/backward/kept_scale.cuh).
#pragma once

#include "common/backward/captured.cuh"
#include "common/backward/derivatives.cuh"
#include "common/backward/distances.cuh"
#include "common/backward/kept_scale.cuh"
#include "common/backward/listed_of_tile.cuh"
#include "common/backward/one_of.cuh"
#include "common/philox.h"
#include "common/placement.cuh"
#include "common/score/head_case.cuh"
#include "common/score/hooks.cuh"
#include "common/softmax.cuh"
#include "params.h"

namespace fa {

/// The place of a tile of scores: its batch entry and head, the tile's first query row and key, and the first
/// query row and key of this warp's part.
struct ElementsPlace {
  int b, h;
  int tile_q0, tile_kv0;
  int q0, kv0;
};

/// The stats of the rows that a thread meets: where its tile's columns are rows of Q, in shared memory, counted
/// from the tile's first.
struct StatsOfColumns {
  const float* lse;
  const float* d;
};
/// Where its tile's rows are: of each.
struct StatsOfLine {
  float lse, d;
};

/// Whether a strategy of scores is that of linear addends (common/score/strategy/linear.cuh).
template <class Score>
struct IsLinear {
  static constexpr bool kValue = false;
};
template <>
struct IsLinear<LinearScores> {
  static constexpr bool kValue = true;
};

/// `kGathers`: whether the gradients of what hooks capture are added up on the way.
template <class Config, class Hooks, class Derivatives, bool kKeysDown, int kM, int kN, bool kGathers = true>
struct Elements {
  static constexpr int kMostCode = 3000;  // instructions: a third of a second of NVRTC's time
  // Whether the addend depends on the distance alone: it is found once a distance, not once an element.
  static constexpr bool kAddsByDistance = Hooks::kRelativeAddendSize > 0;
  // Whether the addend is slope * kv_idx and a rest that is one number a row: either part is found once a line of the tile.
  static constexpr bool kAddsBySlope = IsLinear<typename Hooks::Score>::kValue;
  using Distances = typename OneOf<kAddsByDistance, ValuesOfDistance<2 * kM, kN, kKeysDown ? 1 : -1>,
                                   NoValuesOfDistance>::Type;
  static constexpr int kElementSize = (kAddsByDistance ? 2 : Hooks::kScoreSize) + Hooks::kMaskSize +
                                      Hooks::kDerivativeSize + (kGathers ? Derivatives::Adjoints::kSize : 0);
  static constexpr int kSize = kM * 4 * kElementSize + 2 * (kKeysDown ? Hooks::kRowSize : Hooks::kColumnSize);
  static constexpr bool kIsRolled = kSize * kN > kMostCode;
  // Whether a branch keeps the groups of columns apart: ptxas would start the reads and the arithmetic of all of them
  // first, and has no registers for the results.
  static constexpr bool kGroupsApart = kElementSize > 0 && kN > 2;
  // Whether a hook may be asked for indices inside the lengths alone.
  static constexpr bool kClamps = Hooks::kRowReads || Hooks::kColumnReads || Hooks::kElementReads ||
                                  Hooks::kIsByHead || Derivatives::Adjoints::kAny;
  using Head = typename Hooks::Head;
  using Row = typename Hooks::Row;
  using Column = typename Hooks::Column;
  using Line = typename OneOf<kKeysDown, Column, Row>::Type;    // down the accumulators' rows
  using Across = typename OneOf<kKeysDown, Row, Column>::Type;  // and their columns
  // Whether a row of Q is found once a warp, by one lane, where keys go down: 8 lanes meet it, and fetching what it is of
  // takes a word an instruction.
  static constexpr bool kSharesRows = kKeysDown && Hooks::kRowSize > 3 * static_cast<int>(sizeof(Row) / 4);
  static constexpr int kRowsOfTurn = 32;  // that the lanes find at a time, for 4 groups of 8 columns
  using Listed =
      typename OneOf<Hooks::kListsKeys, ListedOfTile<kKeysDown, Hooks, kM, kN>, NoListedOfTile>::Type;
  using Tile = float[kM][kN][4];
  using Captured =
      CapturedSums<typename Derivatives::Adjoints, kKeysDown, kM, Config::kTileQ, Config::kTileKv>;
  static constexpr bool kCaptures = kGathers && Captured::kAny;

  const BackwardParams& params;
  const CallParams& call;
  ElementsPlace place;
  Head head;
  int q_len, kv_len;

  __device__ __forceinline__ Elements(const BackwardParams& params_, const ElementsPlace& place_)
      : params(params_),
        call(params_.forward.call),
        place(place_),
        head(Hooks::head(call, place_.b, place_.h)),
        q_len(Sequence::q_len(call, place_.b)),
        kv_len(Sequence::kv_len(call, place_.b)) {}

  /// Which keys the rows list: what a tile with checks asks for.
  __device__ __forceinline__ Listed find_listed() const {
    Listed listed;
    listed.find(call, head, place.kv0, [&](int row) { return min(place.q0 + row, q_len - 1); });
    return listed;
  }

  /// s: scores, then P Z. dp: dP, then dS. `kChecks`: the mask drops some, or an end cuts the tile. `listed`: as found, where
  /// rows list keys.
  /// `stats`: of this thread's lines (kM x 2 pairs), or StatsOfColumns.
  /// `room`: what captured sums have in shared memory.
  template <bool kChecks, class Stats>
  __device__ __forceinline__ void apply(Tile& s, Tile& dp, const Stats& stats, Listed& listed,
                                        Captured& captured, float* room) const {
    Line lines[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) lines[m][half] = line(line_offset(m, half));
    Drawn drawn;
    Row row_of_lane;  // kSharesRows
    Distances addends;
    if constexpr (kAddsByDistance)
      addends.find(place.q0 - place.kv0, [&](int distance) {
        return Hooks::relative_addend(call, head, min(max(distance, 1 - kv_len), q_len - 1));
      });
    if constexpr (kCaptures) captured.begin_tile();
    if constexpr (kIsRolled) {
#pragma unroll 1
      for (int n = 0; n < kN; ++n) {
        group<kChecks>(s, dp, lines, stats, drawn, row_of_lane, listed, addends, captured, room, 0, n);
        rotate(s);
        rotate(dp);
      }
    } else {
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        // No part of a tile begins a tile past the end: the branch is never taken.
        if (kGroupsApart && n > 0 &&
            (kKeysDown ? place.q0 >= q_len + Config::kTileQ : place.kv0 >= kv_len + Config::kTileKv))
          break;
        group<kChecks>(s, dp, lines, stats, drawn, row_of_lane, listed, addends, captured, room, n, n);
      }
    }
    if constexpr (kCaptures) captured.end_tile(room);
  }

 private:
  /// What dropout drops of a thread's elements in the 8 columns at hand, a bit each.
  struct Drawn {
    unsigned dropped[kKeysDown ? (kM + 1) / 2 * 2 : kM];
    PhiloxWords words[kKeysDown ? 1 : kM][2];

    __device__ __forceinline__ bool keeps(int m, int half, int pair) const {
      const int bit = kKeysDown ? 2 * (2 * (m % 2) + half) : 2 * half + pair;
      return (dropped[kKeysDown ? m / 2 * 2 + pair : m] & 1u << bit) == 0;
    }
  };

  static __device__ __forceinline__ int line_offset(int m, int half) {
    return static_cast<int>(lane_of_warp()) / 4 + 16 * m + 8 * half;
  }
  static __device__ __forceinline__ int column_offset(int n, int pair) {
    return 8 * n + 2 * (static_cast<int>(lane_of_warp()) % 4) + pair;
  }

  /// The index that the hook of a row of the tile is asked with.
  __device__ __forceinline__ int row_index(int q_idx) const {
    return kClamps ? min(q_idx, q_len - 1) : q_idx;
  }
  __device__ __forceinline__ Row row_at(int q_idx) const {
    q_idx = row_index(q_idx);
    return Hooks::row(call, head, q_idx, static_cast<float>(q_idx));
  }
  __device__ __forceinline__ Column column_at(int kv_idx) const {
    if constexpr (kClamps) kv_idx = min(kv_idx, kv_len - 1);
    return Hooks::column(call, head, kv_idx, static_cast<float>(kv_idx));
  }
  __device__ __forceinline__ Line line(int offset) const {
    if constexpr (kKeysDown)
      return column_at(place.kv0 + offset);
    else
      return row_at(place.q0 + offset);
  }
  __device__ __forceinline__ Across across(int offset) const {
    if constexpr (kKeysDown)
      return row_at(place.q0 + offset);
    else
      return column_at(place.kv0 + offset);
  }

  /// From the tile's first key on, so that the number stays small, whatever the length.
  __device__ __forceinline__ float from_first_key(int kv_idx) const {
    return static_cast<float>(kv_idx - place.tile_kv0);
  }

  /// Row q_idx, which `lane` has found. All lanes of the warp ask; the indices, a row's first two words, they know.
  static __device__ __forceinline__ Row fetch(const Row& mine, int lane, int q_idx) {
    static_assert(sizeof(Row) % 4 == 0);
    union Words {
      Row row;
      int word[sizeof(Row) / 4];
      __device__ __forceinline__ Words() {}
    } from, to;
    from.row = mine;
#pragma unroll
    for (int i = 2; i < static_cast<int>(sizeof(Row) / 4); ++i)
      to.word[i] = __shfl_sync(0xffffffffu, from.word[i], lane);
    to.row.q_idx = q_idx;
    to.row.q_idx_f = static_cast<float>(q_idx);
    return to.row;
  }

  /// The 8 columns `n` of the tile, which are in s[.][at].
  template <bool kChecks, class Stats>
  __device__ __forceinline__ void group(Tile& s, Tile& dp, const Line (&lines)[kM][2], const Stats& stats,
                                        Drawn& drawn, Row& row_of_lane, Listed& listed, Distances& addends,
                                        Captured& captured, float* room, int at, int n) const {
    if constexpr (Config::kDropout) draw(drawn, n);
    if constexpr (kAddsByDistance) addends.begin_group(n);
    // In tiles without checks a mask's rows are not asked for, and what they take to find is left out.
    constexpr bool kFetches = kSharesRows && kChecks;
    if constexpr (kFetches) {
      if (8 * n % kRowsOfTurn == 0) row_of_lane = row_at(place.q0 + 8 * n + static_cast<int>(lane_of_warp()));
    }
    constexpr bool kAsksList = Hooks::kListsKeys && kChecks;
    if constexpr (kAsksList) listed.begin_group(n);
    Column first_key;
    if constexpr (kAddsBySlope) first_key = column_at(place.tile_kv0);
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int offset = column_offset(n, pair);
      Across column;
      if constexpr (kFetches)
        column = fetch(row_of_lane, offset % kRowsOfTurn, row_index(place.q0 + offset));
      else
        column = across(offset);
      if constexpr (kAsksList) listed.begin_pair(n, pair);
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float lse, d;
          if constexpr (kKeysDown) {
            lse = stats.lse[offset];
            d = stats.d[offset];
          } else {
            lse = stats[m][half].lse;
            d = stats[m][half].d;
          }
          const int i = 2 * half + pair;
          const int q_idx = place.q0 + (kKeysDown ? offset : line_offset(m, half));
          const int kv_idx = place.kv0 + (kKeysDown ? line_offset(m, half) : offset);
          const bool is_drawn = !Config::kDropout || drawn.keeps(m, half, pair);
          const Row& row = one_of<kKeysDown>(column, lines[m][half]);
          const Column& key = one_of<!kKeysDown>(column, lines[m][half]);
          const float score = call.scale * s[m][at][i];
          float logit;
          if constexpr (kAddsByDistance) {
            logit = fmaf(Hooks::multiplier(call, head, row, key), s[m][at][i],
                         addends.of_line[2 * m + half][pair]);
          } else if constexpr (kAddsBySlope) {
            logit =
                fmaf(call.scale_log2, s[m][at][i], Hooks::addend_slope(call, head) * from_first_key(kv_idx));
            lse -= Hooks::addend(call, head, row, first_key);
          } else {
            logit = Hooks::logit(s[m][at][i], call, head, row, key);
          }
          bool is_listed = false;
          if constexpr (kAsksList) is_listed = listed.is_listed(m, half, pair);
          const float d_logit = element<kChecks>(logit, s[m][at][i], dp[m][at][i], row, key, q_idx, kv_idx,
                                                 lse, d, is_drawn, is_listed);
          if constexpr (kCaptures)
            captured.add(params,
                         {score, place.b, place.h, row.q_idx, key.kv_idx, kept_scale<Config>(call) * d_logit},
                         2 * m + half, pair, room);
        }
    }
    if constexpr (kAddsByDistance) addends.end_group();
    if constexpr (kCaptures) captured.end_group(room, n);
  }

  template <bool kFirst, class First, class Second>
  static __device__ __forceinline__ const typename OneOf<kFirst, First, Second>::Type& one_of(
      const First& first, const Second& second) {
    if constexpr (kFirst)
      return first;
    else
      return second;
  }

  /// Returns the gradient by the logit, as dS without kept_scale.
  template <bool kChecks>
  __device__ __forceinline__ float element(float logit, float& s, float& dp, const Row& row,
                                           const Column& column, int q_idx, int kv_idx, float lse, float d,
                                           bool drawn, bool is_listed) const {
    float p = fast_exp2(logit - lse);
    if constexpr (kChecks) {
      // A row whose lse is +inf keeps nothing, whatever its logits are.
      bool keeps = q_idx < q_len && kv_idx < kv_len && lse < -negative_infinity();
      if constexpr (Hooks::kListsKeys)
        keeps = keeps && Hooks::mask(call, head, row, column, is_listed);
      else if constexpr (Hooks::kHasMask)
        keeps = keeps && Hooks::mask(call, head, row, column);
      p = keeps ? p : 0.0f;
    }
    const float pz = drawn ? p : 0.0f;
    const float dl = Config::kDropout ? fmaf(pz, dp, -(p * d)) : p * (dp - d);  // without kept_scale
    if constexpr (Hooks::kHasScoreDerivative) {
      dp = times_derivative(dl, Hooks::d_score(s, call, head, row, column));
    } else {
      dp = dl;
    }
    s = pz;
    return dl;
  }

  /// One Philox call draws 8 neighbours in kv of a row, two by two in 32 columns (common/philox.h).
  __device__ __forceinline__ void draw(Drawn& drawn, int n) const {
    const unsigned number = static_cast<unsigned>(Sequence::head_number(call, place.b, place.h));
    const int lane = static_cast<int>(lane_of_warp());
    if constexpr (kKeysDown) {
      // The 8 rows of the group have 4 calls each for 32 keys: one a lane, which compares what it draws, as a difference's
      // sign. Lanes fetch the bits of their row, of which every second is their key's.
#pragma unroll
      for (int first = 0; first < kM; first += 2) {
        const int kv0 = place.kv0 + 16 * first;  // 32 keys, or 16 of them where that is all of the warp's
        const PhiloxWords mine =
            dropout_words(call.seed, number, place.q0 + 8 * n + lane / 4, kv0 + 2 * (lane % 4));
        // The last key's bit first: each moves the others up.
        const int blocks = 2 * (kM - first < 2 ? 1 : 2);  // of 8 keys
        const bool is_second_half = kM % 2 != 0 && kv0 % 32 != 0;
        unsigned dropped = 0;
#pragma unroll
        for (int block = blocks - 1; block >= 0; --block) {
          const unsigned word = is_second_half ? mine.word[(block + 2) % 4] : mine.word[block];
          dropped = __funnelshift_l((word >> 16) - call.drop_threshold, dropped, 1);
          dropped = __funnelshift_l((word & 0xffffu) - call.drop_threshold, dropped, 1);
        }
#pragma unroll
        for (int pair = 0; pair < 2; ++pair)
          drawn.dropped[first + pair] =
              __shfl_sync(0xffffffffu, dropped, 4 * (2 * (lane % 4) + pair) + lane / 8) >> lane / 4 % 2;
      }
    } else {
      // A call serves the elements that a thread has of a row in 4 groups. kv0 is a multiple of 32.
#pragma unroll
      for (int m = 0; m < kM; ++m) drawn.dropped[m] = 0;
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if (n % 4 == 0)
            drawn.words[m][half] = dropout_words(call.seed, number, place.q0 + line_offset(m, half),
                                                 place.kv0 + column_offset(n, 0));
          const unsigned bits = drawn.words[m][half].word[n % 4];
          drawn.dropped[m] |= (bits & 0xffffu) < call.drop_threshold ? 1u << (2 * half) : 0u;
          drawn.dropped[m] |= bits >> 16 < call.drop_threshold ? 2u << (2 * half) : 0u;
        }
    }
  }

  /// Moves each group to the place of the one before; the first goes to the end.
  static __device__ __forceinline__ void rotate(Tile& x) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float first = x[m][0][i];
#pragma unroll
        for (int n = 1; n < kN; ++n) x[m][n - 1][i] = x[m][n][i];
        x[m][kN - 1][i] = first;
      }
  }
};

}  // namespace fa
