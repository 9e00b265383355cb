// What the exponentials of a warp's rows refer to (SoftmaxRow::m), from tile to tile.
//
// Careful     A tile's maxima are found before its exponentials, and references that are too far below them follow.
// Trusting    No maximum is found, and references stay: exponentials may grow as large as f32 holds, with the same relative error.
//             Before the next tile the sums tell which references have to follow.
//
// A warp starts careful. It trusts its references once a tile has moved none of them and none is low. It is careful again, to the
// last tile, after a tile whose sums grew steeply. Where sums or O may have overflowed, the CTA visits all tiles once more, careful
// from the first to the last. So scores that rise by 2^60 within one tile, over all that a row has met before, cost twice the time.
#pragma once

#include "common/dtype.cuh"
#include "common/lane_store.cuh"
#include "common/softmax.cuh"

namespace fa {

/// Whether kernels trust references, by their elements. f16 holds no probability above 65504. f32 would: its kernels, which do three
/// products for one, win 1% and have no registers for it.
template <class Element>
constexpr bool kTrustsReferences = false;
template <>
constexpr bool kTrustsReferences<Bf16> = true;

template <int kMTiles, bool kMayTrust>
struct RowReferences {
  // A reference below this is low: its row has met no key, or only keys that an addend such as -10000 excludes, and what follows
  // would overflow.
  static constexpr float kLow = -64.0f;
  using Rows = SoftmaxRow[kMTiles][2];

  enum Trust {  // a lane of the store keeps one of these, so that it takes no register
    kNever,     // the tiles are visited a second time
    kNoLonger,  // a tile's sums grew steeply
    kPossible,  // not yet
    kNow
  };

  /// Before the first tile.
  static __device__ __forceinline__ void start(LaneStore& store) {
    if constexpr (kMayTrust) store.put_word(Kept::kTrust, kPossible);
  }

  /// After the last tile, where rows may trust, by all warps that multiply: ends the copies, as Output::store does, and returns
  /// whether all tiles have to be visited again.
  template <class Output>
  static __device__ __forceinline__ bool have_to_repeat(LaneStore& store, const Output& output,
                                                        const Rows& softmax) {
    return output.end_copies_and_ask(have_lost(store, output, softmax));
  }

  /// Before the exponentials of a tile whose logits are scale * s + shift: moves references up where they have to be, then returns
  /// true, and tells `multiply(m, half, factor)` of each row by what to multiply O, which counted from the reference before.
  template <class Scores, class Multiply>
  static __device__ __forceinline__ bool settle(LaneStore& store, const Scores& scores, Rows& softmax,
                                                float scale, float shift, const Multiply& multiply) {
    if constexpr (kMayTrust) {
      if (store.get_word(Kept::kTrust) == kNow) return follow_sums(store, softmax, multiply);
    }
    float tile_max[kMTiles][2];
    scores.find_maximum(tile_max);
    const auto as_logit = [&](float x) { return Scores::Score::kHasShift ? x * scale + shift : x * scale; };
    return follow_maxima(store, tile_max, as_logit, softmax, multiply);
  }

 private:
  /// After the last tile: whether sums or O may have overflowed, in this thread. Whatever follows is careful.
  template <class Output>
  static __device__ __forceinline__ bool have_lost(LaneStore& store, const Output& output,
                                                   const Rows& softmax) {
    const bool trusted = store.get_word(Kept::kTrust) != kNever;
    bool lost = !output.is_surely_finite();
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) lost |= softmax[m][half].has_lost_sum();
    store.put_word(Kept::kTrust, kNever);
    return trusted && lost;
  }

  /// Moves references up to the maxima of a tile, `as_logit(tile_max)`, where one is stale: most tiles raise no row's maximum by
  /// much. Each thread asks for its own scores: lanes exchange their maxima only where one of them is stale.
  template <class AsLogit, class Multiply>
  static __device__ __forceinline__ bool follow_maxima(LaneStore& store, const float (&tile_max)[kMTiles][2],
                                                       const AsLogit& as_logit, Rows& softmax,
                                                       const Multiply& multiply) {
    bool stale = false;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) stale |= softmax[m][half].is_stale(as_logit(tile_max[m][half]));
    if (!__any_sync(0xffffffffu, stale)) {
      if constexpr (kMayTrust) trust_unless_low(store, softmax);
      return false;
    }
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        multiply(m, half, softmax[m][half].rescale(as_logit(quad_max(tile_max[m][half]))));
    return true;
  }

  static __device__ __forceinline__ void trust_unless_low(LaneStore& store, const Rows& softmax) {
    if (store.get_word(Kept::kTrust) != kPossible) return;
    bool low = false;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) low |= softmax[m][half].m < kLow;
    if (!__any_sync(0xffffffffu, low)) store.put_word(Kept::kTrust, kNow);
  }

  /// Moves references up where sums have grown large.
  template <class Multiply>
  static __device__ __forceinline__ bool follow_sums(LaneStore& store, Rows& softmax,
                                                     const Multiply& multiply) {
    bool large = false, steep = false;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) large |= softmax[m][half].has_large_sum();
    if (!__any_sync(0xffffffffu, large)) return false;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        steep |= softmax[m][half].has_steep_sum();
        multiply(m, half, softmax[m][half].follow_sum());
      }
    if (__any_sync(0xffffffffu, steep)) store.put_word(Kept::kTrust, kNoLonger);
    return true;
  }
};

}  // namespace fa
