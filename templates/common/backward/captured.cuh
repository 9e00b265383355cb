// Gradients of what hooks capture: the gradient by each logit, times what the spec's derivative says, goes to one
// element of the tensor (or the one of a param). What decides the element says how it is added up before it
// leaves for memory, by atomic additions of sums:
//
//   of the head      in a register of each thread, then of its warp: one addition a warp, head and kv tile
//   of the column    in registers while the group's q tiles pass by; one addition a key
//   of the row       the same in the pass that sums dQ; one addition a row
//   of the distance  in shared memory, one number a diagonal of the tile; one addition a diagonal and tile
//   of the element   at once: elements of such a table have a term each, or few
//
// A read inside a reduction goes to an element an iteration. Where these are few, each has sums of its own; else
// they count as elements.
#pragma once

#include "backward_params.h"
#include "common/backward/derivatives.cuh"
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
  static constexpr int kLines = kIsOfLine ? 2 * kM : 1;
  static constexpr int kSums = kIsOfHead || kIsOfLine ? Adjoint::kIterations * kLines : 1;
  float sums[kSums];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] = 0.0f;
  }

  /// `line`: 2 m + half. `distances`: where this adjoint's sum of the element's diagonal is.
  __device__ __forceinline__ void add(const BackwardParams& params, const ElementGradient& of, int line,
                                      float* distance) {
    const CallParams& p = params.forward.call;
    if constexpr (kIsHere)
      Adjoint::for_each_iteration(p, of.b, [&](const Iteration& i) {
        const float term =
            times_derivative(of.d_logit, Adjoint::value(of.score, p, of.b, of.h, of.q_idx, of.kv_idx, i));
        if constexpr (kIsOfHead) sums[i.number] += term;
        if constexpr (kIsOfLine) sums[i.number * kLines + line] += term;
        if constexpr (kIsOfDistance) atomicAdd(distance, term);
        if constexpr (kIsOfElement)
          if (term != 0.0f) add_to(params, of.b, of.h, of.q_idx, of.kv_idx, term, i);
      });
  }

  /// After the last tile of a head. `line_index(line)`: the q_idx or kv_idx of a line, -1 for one past the end.
  template <class LineIndex>
  __device__ __forceinline__ void finish(const BackwardParams& params, int b, int h, LineIndex line_index) {
    if constexpr (kIsOfHead)
      Adjoint::for_each_iteration(params.forward.call, b, [&](const Iteration& i) {
        const float sum = warp_sum(sums[i.number]);
        if (lane_of_warp() == 0) add_to(params, b, h, 0, 0, sum, i);
      });
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

  static __device__ __forceinline__ void add_to(const BackwardParams& params, int b, int h, int q_idx,
                                                int kv_idx, float sum, const Iteration& i) {
    atomicAdd(
        params.gradients[Adjoint::kGradient] + Adjoint::element(params.forward.call, b, h, q_idx, kv_idx, i),
        sum);
  }
};

template <class List, bool kKeysDown, int kM, int kTileQ, int kTileKv>
struct CapturedSums;

/// Those of all adjoints.
template <class... Adjoints, bool kKeysDown, int kM, int kTileQ, int kTileKv>
struct CapturedSums<AdjointList<Adjoints...>, kKeysDown, kM, kTileQ, kTileKv>
    : AdjointSums<Adjoints, kKeysDown, kM>... {
  template <class Adjoint>
  using Of = AdjointSums<Adjoint, kKeysDown, kM>;
  static constexpr bool kAny = (false || ... || Of<Adjoints>::kIsHere);
  static constexpr int kDistances = (0 + ... + (Of<Adjoints>::kIsOfDistance ? 1 : 0));
  static constexpr int kDiagonals = kTileQ + kTileKv;  // of a tile, and one more
  static constexpr int kSharedBytes = kDistances * kDiagonals * 4;

  __device__ __forceinline__ void clear() { (Of<Adjoints>::clear(), ...); }

  /// `distances`: the diagonals of the tile at (q0, kv0), for each adjoint that has some.
  __device__ __forceinline__ void add(const BackwardParams& params, const ElementGradient& of, int line,
                                      float* distances, int q0, int kv0) {
    float* at = distances + (of.q_idx - q0) - (of.kv_idx - kv0) + (kTileKv - 1);
    (add_one<Adjoints>(params, of, line, at), ...);
  }

  template <class LineIndex>
  __device__ __forceinline__ void finish(const BackwardParams& params, int b, int h, LineIndex line_index) {
    (Of<Adjoints>::finish(params, b, h, line_index), ...);
  }

  /// What all threads of the CTA do with the diagonals, between two barriers: all of a tile's have been added.
  static __device__ __forceinline__ void flush(const BackwardParams& params, float* distances, int b, int h,
                                               int q0, int kv0) {
    (flush_one<Adjoints>(params, distances, b, h, q0, kv0), ...);
  }

  static __device__ __forceinline__ void clear_distances(float* distances) {
    for (int i = thread_of_cta(); i < kDistances * kDiagonals; i += threads_of_cta()) distances[i] = 0.0f;
  }

 private:
  template <class Adjoint>
  __device__ __forceinline__ void add_one(const BackwardParams& params, const ElementGradient& of, int line,
                                          float*& at) {
    Of<Adjoint>::add(params, of, line, at);
    if constexpr (Of<Adjoint>::kIsOfDistance) at += kDiagonals;
  }

  template <class Adjoint>
  static __device__ __forceinline__ void flush_one(const BackwardParams& params, float*& distances, int b,
                                                   int h, int q0, int kv0) {
    if constexpr (Of<Adjoint>::kIsOfDistance) {
      for (int i = thread_of_cta(); i < kDiagonals; i += threads_of_cta()) {
        const float sum = distances[i];
        distances[i] = 0.0f;
        // The element depends on the distance alone: any two indices that have it will do. Where none have, no
        // element of the tile was added.
        const int distance = q0 - kv0 + i - (kTileKv - 1);
        if (sum != 0.0f)
          Of<Adjoint>::add_to(params, b, h, max(distance, 0), max(-distance, 0), sum, {0, {0}});
      }
      distances += kDiagonals;
    }
  }
};

}  // namespace fa
