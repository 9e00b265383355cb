// Gradients of what hooks capture: the gradient by each logit, times what the spec's derivative says, goes to one
// element of the tensor (or the one of a param). What decides the element says how it is added up before it
// leaves for memory, as a sum:
//
//   of the head      in a register of each thread, then of its warp, then of its CTA: one addition a head and kv tile
//   of the column    in registers while the group's q tiles pass by; one addition a key
//   of the row       the same in the pass that sums dQ; one addition a row
//   of the distance  in registers and by shuffles (diagonals.cuh), then over the CTA's warps: one addition a diagonal
//                    and tile, or 32 of them where a clamp makes them one element
//   of the element   stored where nobody else writes to it, [.., q_idx, kv_idx]; in a table in shared memory where
//                    a head's part of the tensor is small; else at once
//
// A read inside a reduction goes to an element an iteration. Where these are few, each has sums of its own; else
// they count as elements. Additions to memory are atomic, of f32, or of integers where gradients repeat
// (exact_sum.cuh): all sums before them have one order.
#pragma once

#include "backward_params.h"
#include "common/backward/derivatives.cuh"
#include "common/backward/diagonals.cuh"
#include "common/backward/gradient_add.cuh"
#include "common/backward/one_of.cuh"
#include "common/placement.cuh"
#include "common/softmax.cuh"

namespace fa {

/// The score, the indices and the gradient by the logit of one element.
struct ElementGradient {
  float score;
  int b, h, q_idx, kv_idx;
  float d_logit;
};

/// What gets no gradient gives none, even where the derivative is infinite.
__device__ __forceinline__ float times_derivative(float d_logit, float derivative) {
  return d_logit == 0.0f ? 0.0f : d_logit * derivative;
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int other = 1; other < 32; other *= 2) x += __shfl_xor_sync(0xffffffffu, x, other);
  return x;
}

/// One adjoint's sums in a thread of the pass that has keys down its accumulators' rows, or queries.
template <class Adjoint, bool kKeysDown, int kM>
struct AdjointSums {
  using Iteration = typename Adjoint::Iteration;
  static constexpr AdjointPlace kPlace = Adjoint::kPlace;
  static constexpr bool kIsHere = (kPlace == AdjointPlace::row) != kKeysDown;
  static constexpr bool kIsOfHead = kIsHere && kPlace == AdjointPlace::head;
  static constexpr bool kIsOfLine =
      kIsHere && (kPlace == AdjointPlace::row || kPlace == AdjointPlace::column);
  static constexpr bool kIsOfDistance = kIsHere && kPlace == AdjointPlace::distance;
  static constexpr bool kIsOfElement = kIsHere && kPlace == AdjointPlace::element;
  static constexpr bool kHasTable = kIsOfElement && Adjoint::kTable > 0;
  static constexpr int kLines = kIsOfLine ? 2 * kM : 1;
  static constexpr int kSums = kIsOfHead || kIsOfLine ? Adjoint::kIterations * kLines : 1;
  using Diagonals = typename OneOf<kIsOfDistance, DiagonalSums<2 * kM>, NoDiagonalSums>::Type;
  float sums[kSums];
  Diagonals diagonals;

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] = 0.0f;
  }

  /// `line`: 2 m + half. `table`: of this adjoint, in shared memory.
  __device__ __forceinline__ void add(const BackwardParams& params, const ElementGradient& of, int line,
                                      int pair, float* table) {
    const CallParams& p = params.forward.call;
    if constexpr (kIsHere)
      Adjoint::for_each_iteration(p, of.b, [&](const Iteration& i) {
        const float term =
            times_derivative(of.d_logit, Adjoint::value(of.score, p, of.b, of.h, of.q_idx, of.kv_idx, i));
        if constexpr (kIsOfHead) sums[i.number] += term;
        if constexpr (kIsOfLine) sums[i.number * kLines + line] += term;
        if constexpr (kIsOfDistance) diagonals.add(line, pair, term);
        if constexpr (kHasTable) {
          if (term != 0.0f)
            atomicAdd(table + Adjoint::place_in_table(p, of.b, of.h, of.q_idx, of.kv_idx), term);
        } else if constexpr (kIsOfElement) {
          if (term != 0.0f)
            give_term<Adjoint>(params, Adjoint::element(p, of.b, of.h, of.q_idx, of.kv_idx, i), term);
        }
      });
  }

  /// After the last tile of a head, of lines. `line_index(line)`: the q_idx or kv_idx of a line, -1 for one past the
  /// end.
  template <class LineIndex>
  __device__ __forceinline__ void finish_lines(const BackwardParams& params, int b, int h,
                                               LineIndex line_index) {
    if constexpr (kIsOfLine)
      Adjoint::for_each_iteration(params.forward.call, b, [&](const Iteration& i) {
#pragma unroll
        for (int line = 0; line < kLines; ++line) {
          const float sum = quad_sum(sums[i.number * kLines + line]);
          const int index = line_index(line);
          if (lane_of_warp() % 4 == 0 && index >= 0)
            add_to(params, b, h, kKeysDown ? 0 : index, kKeysDown ? index : 0, sum, i);
        }
      });
  }

  /// After the last tile of a head, for an element of the head: each warp writes its sums to `of_warps` (kIterations x warps), then,
  /// after a barrier, finish_head adds them up.
  __device__ __forceinline__ void give_head(const BackwardParams& params, int b, float* of_warps, int warps) {
    Adjoint::for_each_iteration(params.forward.call, b, [&](const Iteration& i) {
      const float sum = warp_sum(sums[i.number]);
      if (lane_of_warp() == 0) of_warps[i.number * warps + warp_of_cta()] = sum;
    });
  }
  static __device__ __forceinline__ void finish_head(const BackwardParams& params, int b, int h,
                                                     const float* of_warps, int warps) {
    Adjoint::for_each_iteration(params.forward.call, b, [&](const Iteration& i) {
      if (thread_of_cta() != i.number) return;
      float sum = 0.0f;
      for (int warp = 0; warp < warps; ++warp) sum += of_warps[i.number * warps + warp];
      add_to(params, b, h, 0, 0, sum, i);
    });
  }

  static __device__ __forceinline__ void add_to(const BackwardParams& params, int b, int h, int q_idx,
                                                int kv_idx, float sum, const Iteration& i) {
    add_to_element<Adjoint>(params, Adjoint::element(params.forward.call, b, h, q_idx, kv_idx, i), sum);
  }
};

template <class List, bool kKeysDown, int kM, int kTileQ, int kTileKv>
struct CapturedSums;

/// Those of all adjoints. Shared memory, one after the other: of each adjoint the warps' diagonals of a tile, the
/// warps' sums of a head, or its table.
template <class... Adjoints, bool kKeysDown, int kM, int kTileQ, int kTileKv>
struct CapturedSums<AdjointList<Adjoints...>, kKeysDown, kM, kTileQ, kTileKv>
    : AdjointSums<Adjoints, kKeysDown, kM>... {
  template <class Adjoint>
  using Of = AdjointSums<Adjoint, kKeysDown, kM>;
  static constexpr bool kAny = (false || ... || Of<Adjoints>::kIsHere);
  static constexpr bool kHasDistances = (false || ... || Of<Adjoints>::kIsOfDistance);
  static constexpr bool kHasHeads = (false || ... || Of<Adjoints>::kIsOfHead);
  static constexpr bool kHasTables = (false || ... || Of<Adjoints>::kHasTable);
  static constexpr int kWarps = kTileKv / (16 * kM);  // where keys are down
  static constexpr int kGroups = kTileQ / 8;
  using Diagonals = DiagonalSums<2 * kM>;
  static constexpr int kDiagonalsOfWarp = Diagonals::template kFloats<kGroups>;

  /// Floats of an adjoint in shared memory.
  template <class Adjoint>
  static constexpr int kFloatsOf = Of<Adjoint>::kIsOfDistance ? kWarps * kDiagonalsOfWarp
                                   : Of<Adjoint>::kIsOfHead   ? kWarps * Adjoint::kIterations
                                   : Of<Adjoint>::kHasTable   ? Adjoint::kTable
                                                              : 0;
  static constexpr int kSharedBytes = kKeysDown ? 4 * (0 + ... + kFloatsOf<Adjoints>) : 0;

  __device__ __forceinline__ void clear() { (Of<Adjoints>::clear(), ...); }

  static __device__ __forceinline__ void clear_tables(float* room) {
    for (int i = thread_of_cta(); i < kSharedBytes / 4; i += threads_of_cta()) room[i] = 0.0f;
  }

  /// Before a tile.
  __device__ __forceinline__ void begin_tile() { (Of<Adjoints>::diagonals.clear(), ...); }

  __device__ __forceinline__ void add(const BackwardParams& params, const ElementGradient& of, int line,
                                      int pair, float* room) {
    (add_one<Adjoints>(params, of, line, pair, room), ...);
  }

  /// After the 8 columns `n` of a tile.
  __device__ __forceinline__ void end_group(float* room, int n) {
    if constexpr (kHasDistances) (end_group_of<Adjoints>(room, n), ...);
  }
  /// And after all of them.
  __device__ __forceinline__ void end_tile(float* room) {
    if constexpr (kHasDistances) (end_tile_of<Adjoints>(room), ...);
  }

  /// What all threads of the CTA do with the diagonals, between two barriers: all of a tile's have been added.
  static __device__ __forceinline__ void flush(const BackwardParams& params, float* room, int b, int h,
                                               int q0, int kv0) {
    (flush_one<Adjoints>(params, room, b, h, q0, kv0), ...);
  }

  /// After the last tile of a head. All threads of the CTA call it, and meet at a barrier before the next head.
  template <class LineIndex>
  __device__ __forceinline__ void finish(const BackwardParams& params, int b, int h, LineIndex line_index,
                                         float* room) {
    (Of<Adjoints>::finish_lines(params, b, h, line_index), ...);
    if constexpr (kHasHeads || kHasTables) {
      float* of_adjoint = room;
      (give_head_of<Adjoints>(params, b, of_adjoint), ...);
      __syncthreads();
      (finish_in_room<Adjoints>(params, b, h, room), ...);
    }
  }

 private:
  template <class Adjoint>
  __device__ __forceinline__ void add_one(const BackwardParams& params, const ElementGradient& of, int line,
                                          int pair, float*& room) {
    Of<Adjoint>::add(params, of, line, pair, room);
    room += kFloatsOf<Adjoint>;
  }
  template <class Adjoint>
  __device__ __forceinline__ void end_group_of(float*& room, int n) {
    if constexpr (Of<Adjoint>::kIsOfDistance)
      Of<Adjoint>::diagonals.end_group(room + warp_of_cta() * kDiagonalsOfWarp, n);
    room += kFloatsOf<Adjoint>;
  }
  template <class Adjoint>
  __device__ __forceinline__ void end_tile_of(float*& room) {
    if constexpr (Of<Adjoint>::kIsOfDistance)
      Of<Adjoint>::diagonals.end_tile(room + warp_of_cta() * kDiagonalsOfWarp, kGroups);
    room += kFloatsOf<Adjoint>;
  }
  template <class Adjoint>
  __device__ __forceinline__ void give_head_of(const BackwardParams& params, int b, float*& room) {
    if constexpr (Of<Adjoint>::kIsOfHead) Of<Adjoint>::give_head(params, b, room, kWarps);
    room += kFloatsOf<Adjoint>;
  }
  template <class Adjoint>
  static __device__ __forceinline__ void finish_in_room(const BackwardParams& params, int b, int h,
                                                        float*& room) {
    if constexpr (Of<Adjoint>::kIsOfHead) Of<Adjoint>::finish_head(params, b, h, room, kWarps);
    if constexpr (Of<Adjoint>::kHasTable) {
      const long long first = Adjoint::first_of_table(params.forward.call, b, h);
      for (int i = thread_of_cta(); i < Adjoint::kTable; i += threads_of_cta()) {
        const float sum = room[i];
        room[i] = 0.0f;
        if (sum != 0.0f) add_to_element<Adjoint>(params, first + i, sum);
      }
    }
    room += kFloatsOf<Adjoint>;
  }

  template <class Adjoint>
  static __device__ __forceinline__ void flush_one(const BackwardParams& params, float*& room, int b, int h,
                                                   int q0, int kv0) {
    if constexpr (Of<Adjoint>::kIsOfDistance) {
      const CallParams& call = params.forward.call;
      const int first = q0 - kv0 - (kTileKv - 1);  // distance of the tile's first diagonal
      const int least = 1 - Sequence::kv_len(call, b), most = Sequence::q_len(call, b) - 1;
#pragma unroll 1
      for (int at = warp_of_cta() * 32; at < kTileQ + kTileKv; at += kWarps * 32) {
        const int i = at + lane_of_warp();
        float sum = 0.0f;
#pragma unroll
        for (int warp = 0; warp < kWarps; ++warp) {
          const int of_warp = i - (kTileKv - 1) + 16 * kM * warp - Diagonals::kFirst;
          if (of_warp >= 0 && of_warp < kDiagonalsOfWarp) sum += room[warp * kDiagonalsOfWarp + of_warp];
        }
        // The element depends on the distance alone: any two indices that have it will do. Where none have, nothing
        // was added to the diagonal.
        const int distance = max(min(first + i, most), least);
        const long long element = Adjoint::element(call, b, h, max(distance, 0), max(-distance, 0), {0, {0}});
        const bool are_one =
            __ballot_sync(0xffffffffu, element == __shfl_sync(0xffffffffu, element, 0)) == 0xffffffffu;
        if (are_one) sum = warp_sum(sum);
        if (sum != 0.0f && (!are_one || lane_of_warp() == 0)) add_to_element<Adjoint>(params, element, sum);
      }
    }
    room += kFloatsOf<Adjoint>;
  }
};

}  // namespace fa
