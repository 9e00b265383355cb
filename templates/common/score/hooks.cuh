// The hooks a kernel is instantiated with: what a spec's score_mod and mask_mod become, split by what
// depends on what. The compiler prints one such struct a spec (compiler/emit/cuda/hooks.cpp); this file
// is the contract, and `IdentityHooks`, which every such struct inherits, is plain scaled dot-product
// attention.
//
// A kernel asks in four stages, each on the values of the ones before:
//   head(b, h)                          once a CTA       everything that depends on neither q_idx nor kv_idx
//   row(head, q_idx)                    once a row       what depends on q_idx but not on kv_idx
//   column(head, kv_idx)                once a column    what depends on kv_idx but not on q_idx
//   logit | multiplier, addend; mask    once an element  the rest
// The logit is in base 2 with the scale folded in: prob = exp2(logit - row_max). `Score` names the
// strategy by which a tile's scores become logits. With s = q . k, the raw dot product:
//   RawScores      logit = p.scale_log2 * s
//   GeneralScores  logit(s)
//   all others     logit = multiplier * s + addend
// `logit` exists with every strategy; `multiplier` and `addend` with all but GeneralScores.
// `mask` is true where the element is kept. It does not depend on s.
//
// Where kHasRowAddend, row_addend(p, head, q_idx) belongs to every logit of the row and is in none of the
// above: kernels add it to lse.
//
// Where kHasScoreDerivative, which only a backward pass asks, d_score(s, p, head, row, column) is the derivative of score_mod
// by the scaled score.
//
// Where kHasSink, sink(p, b, h) is one more base-2 logit of every row, that of a key without a value.
//
// With ProductScores, the multiplier is p.scale_log2 and the addend addend_factor() * addend_term(p,
// head, row, column): tiles may add it to raw scores in one instruction. Where kAddendTermIsElement, that
// term is the staged element alone, of type StagedType.
//
// With LinearScores, the multiplier is p.scale_log2, and addend_slope(p, head) is by how much the addend
// grows from one kv_idx to the next.
//
// What depends on q_idx and kv_idx through q_idx - kv_idx alone, and is worth it, may be asked of a
// distance instead, once for all elements that share it: with ScoresByDiagonal and ShiftedByDiagonal,
// relative_addend(p, head, distance) is the addend; where kMaskIsRelative, relative_mask(p, head,
// distance) is the mask. -kv_len < distance < q_len.
//
// Where kListsKeys, bit i of listed_keys(p, head, q_idx, first) is whether row q_idx lists key first + i, and mask(p, head, row,
// column, is_listed) is the mask of a key of which that is known (common/score/listed_keys.cuh). `first` may be past the end.
//
// Where kStagesColumns, to_stage(column) is what column(head, kv_idx) found, and from_stage(staged, kv_idx,
// kv_idx_f) the column again. Where kStagesElements, one table is read at row(..)'s staged_row(row) + kv_idx,
// and `column.staged` may bring what is there.
//
// Contract of every caller: the hooks are asked only for 0 <= b < batch, 0 <= h < num_q_heads, 0 <= q_idx <
// q_len, 0 <= kv_idx < kv_len (so never when kv_len or q_len is 0): an index past the end would read outside
// a captured tensor. Ragged tiles pass min(q_idx, q_len - 1) and min(kv_idx, kv_len - 1) and throw the result
// away. `q_idx_f` and `kv_idx_f` are the same indices as floats, exact because lengths are at most 2^24.
#pragma once

#include "common/dtype.cuh"
#include "common/math.cuh"
#include "common/sequence.cuh"
#include "params.h"

namespace fa {

// The strategies, one of which hooks name (common/score/strategy/).
struct RawScores;
struct GeneralScores;
struct AffineScores;
struct ScoresByDiagonal;
struct ShiftedScores;
struct ShiftedByDiagonal;
struct LinearScores;
struct ProductScores;

struct IdentityHooks {
  using Score = RawScores;
  static constexpr bool kHasMask = false;
  static constexpr bool kIsByHead = false;     // common/score/head_case.cuh
  static constexpr bool kHeadIsCheap = true;   // head() reads no memory and does little: ask it often
  static constexpr bool kRowIsCheap = true;    // the same of row()
  static constexpr bool kMaskIsHeavy = false;  // mask() is long: it may be there only a few times
  static constexpr bool kListsKeys = false;
  static constexpr bool kHasRowAddend = false;
  static constexpr bool kHasSink = false;
  static constexpr bool kHasScoreDerivative = false;
  static constexpr bool kMaskIsRelative = false;
  static constexpr bool kRowReads = false;       // memory is read at what follows from q_idx
  static constexpr bool kColumnReads = false;    // at what follows from kv_idx
  static constexpr bool kElementReads = false;   // at what follows from both: logit, addend or mask does
  static constexpr bool kStagesColumns = false;  // common/score/staged_reads.cuh
  static constexpr bool kStagesElements = false;
  static constexpr int kStagedBuffers = 1;           // for tiles of that table
  static constexpr bool kStagedRowsAreEven = false;  // staged_row grows by one number from row to row
  static constexpr bool kAddendTermIsElement = false;
  using StagedType = Bf16;

  // Instructions of each part (compiler/emit/code_size.h), by which kernels decide how often it may be there.
  static constexpr int kScoreSize = 0;  // of logit, or of multiplier and addend
  static constexpr int kMaskSize = 0;
  static constexpr int kDerivativeSize = 0;
  static constexpr int kRowSize = 0;
  static constexpr int kColumnSize = 0;
  static constexpr int kRelativeAddendSize = 0;
  static constexpr int kRelativeMaskSize = 0;
  static constexpr int kRowAddendSize = 0;

  struct Head {
    int b;
    int h;
  };
  struct Row {
    int q_idx;
    float q_idx_f;
  };
  struct Column {
    int kv_idx;
    float kv_idx_f;
  };
  using StagedColumn = int;
  using StagedValue = int;

  static __device__ __forceinline__ Head head(const CallParams&, int b, int h) { return {b, h}; }
  template <class H>
  static __device__ __forceinline__ Row row(const CallParams&, const H&, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f};
  }
  template <class H>
  static __device__ __forceinline__ Column column(const CallParams&, const H&, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f};
  }
  // Of any stages, those of structs that inherit these too.
  template <class H, class R, class C>
  static __device__ __forceinline__ float multiplier(const CallParams& p, const H&, const R&, const C&) {
    return p.scale_log2;
  }
  template <class H, class R, class C>
  static __device__ __forceinline__ float addend(const CallParams&, const H&, const R&, const C&) {
    return 0.0f;
  }
  template <class H, class R, class C>
  static __device__ __forceinline__ float logit(float s, const CallParams& p, const H&, const R&, const C&) {
    return p.scale_log2 * s;
  }
  template <class H, class R, class C>
  static __device__ __forceinline__ bool mask(const CallParams&, const H&, const R&, const C&) {
    return true;
  }
};

}  // namespace fa
