// What the backward pass asks about the gradients of what hooks capture: the contract of the generated `struct Derivatives`
// (compiler/emit/cuda/backward/derivatives.cpp), and `PlainDerivatives`, which it inherits, for hooks that capture nothing
// that is marked `grad`. The derivative by the score is one of the hooks (common/score/hooks.cuh).
#pragma once

#include "params.h"

namespace fa {

/// What decides the element that an adjoint goes to: how its terms are added up (common/backward/captured.cuh).
enum class AdjointPlace { head, row, column, distance, element };

// clang-format off
/// An adjoint is a struct:
///
///   static constexpr int kGradient;        // where it goes, of BackwardParams::gradients
///   static constexpr AdjointPlace kPlace;
///   static constexpr int kIterations;      // of the reductions around its read; 1 without
///   static constexpr int kSize;            // instructions of `value`
///   static constexpr bool kRepeats;        // whether its bits are the same in every run
///   // Whether within a head each element gets one term at most, and whether b and h are among its indices.
///   static constexpr bool kIsOnce, kIsOfBatch, kIsOfHead;
///   static constexpr int kTable;           // elements that a head has, where they are few; else 0
///   using Iteration = IterationOf<...>;    // by how many reductions
///   // body(iteration) for each
///   template <class Body> static void for_each_iteration(const CallParams& p, int b, Body body);
///   static float value(float score, const CallParams& p, int b, int h, int q_idx, int kv_idx,
///                      const Iteration& i);
///   // its element; of a sum's it is asked with 0 for the index that has no part in it
///   static long long element(const CallParams& p, int b, int h, int q_idx, int kv_idx, const Iteration& i);
///   // where kTable > 0: the head's first element, and the element's number counted from there
///   static long long first_of_table(const CallParams& p, int b, int h);
///   static int place_in_table(const CallParams& p, int b, int h, int q_idx, int kv_idx);
// clang-format on
template <int kLoops>
struct IterationOf {
  int number;  // of the iteration, in the order they run in
  int index[kLoops > 0 ? kLoops : 1];
};

template <class... Adjoints>
struct AdjointList {
  static constexpr int kSize = (0 + ... + (Adjoints::kSize + 8));
  static constexpr bool kAny = sizeof...(Adjoints) > 0;
};

struct PlainDerivatives {
  using Adjoints = AdjointList<>;      // of score_mod
  using SinkAdjoints = AdjointList<>;  // of the sink, which belongs to the head: their place is `head`
};

}  // namespace fa
